"""Vault, journal and index as one: write, sync, take in outside edits, recover, erase, undo.

It imports `model`, `trust`, `markdown`, `storage`, `search` and `history`. It does not know the
tools and doors that call it.
"""
