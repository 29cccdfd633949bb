"""Find records: the SQLite index, words, vectors, encoders, time phrases and ranking.

It may import `model`, `trust`, `markdown` and `storage`. It does not know who asks, nor where a
document lies.
"""
