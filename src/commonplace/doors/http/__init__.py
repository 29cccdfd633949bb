"""The gateway: the HTTP API, its page, tokens and workers."""
