"""Hold vault, journal and index together: write, sync, recover, erase, undo.

It may import `model`, `trust`, `markdown`, `storage`, `search` and `history`. It does not know
the tools and doors that call it.
"""
