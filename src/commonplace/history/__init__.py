"""Keep and search messages: everything that was said, word for word.

It may import `model`, `trust`, `markdown`, `storage` and `search`. It does not know which
memories were made of a conversation.
"""
