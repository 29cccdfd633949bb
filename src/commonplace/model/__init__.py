"""The words of the product: records, errors, the clock, options and limits.

Every room may import this one. It imports nothing of ours.
"""
