"""The MCP server: tools, documents and prompts over stdio and over HTTP.

`methods` answers; it does not know how a request came in. Only `http` knows the SDK and the web.
"""
