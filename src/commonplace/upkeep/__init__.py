"""Keep a vault small and true: compaction, scan, schedule, heartbeat, window, forgetting.

It may import `model`, `trust`, `markdown`, `storage`, `search`, `history` and `library`. It does
not know who starts it.
"""
