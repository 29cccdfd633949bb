"""The ways in: command line, MCP, HTTP, hooks, setup and admin.

A door may import every room, but no other door; the command line starts the others.
"""
