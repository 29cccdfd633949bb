"""Keep a vault in order: compaction, scan, schedule, heartbeat and the window of a conversation.

It imports the rooms below it: `library`, `history`, `search` and what they stand on. It does not
know who starts it.
"""
