"""Shorten what has grown: plan, summarize, write, and expand a summary again."""
