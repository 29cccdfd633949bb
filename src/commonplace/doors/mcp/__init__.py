"""The Model Context Protocol, over stdio and over HTTP."""
