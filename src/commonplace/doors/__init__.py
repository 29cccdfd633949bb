"""Let people and programs in: command line, MCP, HTTP, hooks, setup and administration.

It may import every room below it. A door does not import another door; only the command line
starts the others.
"""
