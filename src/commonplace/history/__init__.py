"""Messages and conversations: what was said, kept word for word.

It imports `model`, `trust`, `markdown`, `storage` and `search`. It does not know what is
remembered of a conversation.
"""
