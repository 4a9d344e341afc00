"""What is answered to an MCP client, to bytes: pure, and the same bytes for the same answer."""
