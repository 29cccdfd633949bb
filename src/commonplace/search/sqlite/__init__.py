"""The index in one SQLite file: its tables, connections, candidates and rows."""
