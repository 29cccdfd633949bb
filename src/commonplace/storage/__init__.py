"""Read and write files: vault, journal, locks, leases, notes, sessions and options.

It may import `model`, `trust` and `markdown`. It does not know which records a document holds,
nor how they are searched.
"""
