"""Setup: what clients keep on this machine, our entry in their files, and their own memories.

It is no door and prints nothing: the command line and the page both call it. It does not know
memory: only the path of the vault and of the installed command.
"""
