"""Commonplace: persistent memory for AI agents, kept as markdown."""
