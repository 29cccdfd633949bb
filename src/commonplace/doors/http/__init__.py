"""The gateway: the HTTP API, its page, access tokens and worker processes.

Only `app`, `requests` and `oauth` know Starlette; `api` and `workers` know neither headers nor
tokens. No other door is imported here: the command line hands over the MCP application.
"""
