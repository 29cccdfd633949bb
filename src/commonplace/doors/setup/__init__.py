"""Connect a client: write its configuration and hooks, and take them out again."""
