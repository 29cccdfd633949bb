"""Files: the vault, the journal, locks, leases, notes, sessions and the state beside a vault.

It imports `model` and `markdown`. It does not know which records a document holds, nor how they
are searched.
"""
