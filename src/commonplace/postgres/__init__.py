"""Vault, journal, index, history, notes and leases in one PostgreSQL database.

It imports `model`, `trust`, `markdown`, `storage`, `search` and `history`, and implements their
protocols. No other room talks to PostgreSQL.
"""
