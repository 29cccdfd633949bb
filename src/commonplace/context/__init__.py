"""Choose and render the memory that goes into a prompt.

It may import `model`, `trust`, `markdown`, `storage`, `search`, `history` and `library`. It does
not know which client asks.
"""
