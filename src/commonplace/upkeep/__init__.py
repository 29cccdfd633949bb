"""Upkeep: what keeps memory small and true. Each module does one kind of it.

None of them knows who asked for it; nothing is lost by any of them.
"""
