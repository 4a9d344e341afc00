"""Tool sources that speak MCP, for our own loop: children over stdio and endpoints over HTTP."""
