"""The door for agents that speak MCP (Model Context Protocol), with sessions and without (GTW-001, GTW-002)."""
