"""The hooks that clients run around a session.

`clients` knows the forms of each client, `events` what is done; neither knows command lines.
"""
