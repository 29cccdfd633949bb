"""Vectors of records and the ways to compare them with a question."""
