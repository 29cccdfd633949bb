"""Find records: the index in SQLite, words, vectors, encoders, time phrases and ranking.

It imports `model`, `trust`, `markdown` and `storage`. It does not know who asks, nor where a
document lies.
"""
