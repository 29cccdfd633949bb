"""Keep vault, journal, index, history, notes and leases in one PostgreSQL database.

It may import `model`, `trust`, `markdown`, `storage`, `search` and `history`, and implements
their protocols. It does not know which tools or doors use it; no other room talks to PostgreSQL.
"""
