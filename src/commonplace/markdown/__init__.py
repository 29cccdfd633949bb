"""Turn text into records and back: record lines, documents, layouts and merging.

It may import `model`. It reads and writes no file.
"""
