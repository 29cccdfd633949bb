"""Choose and render the memory that goes into a prompt.

It imports the rooms below it: `library`, `history`, `search` and what they stand on. It does not
know which client asks.
"""
