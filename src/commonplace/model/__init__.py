"""Define records, errors, options, limits and the clock.

It may import nothing of ours. Every other room imports it.
"""
