"""Setup and unsetup: enter the server and the hooks into a client's own files, and take them out.

It does not know memory: only the path of the vault and of the installed command.
"""
