"""Text in, text out: record lines, documents, layouts and merging.

It imports `model` alone. It reads and writes no file.
"""
