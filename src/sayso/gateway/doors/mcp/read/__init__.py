"""Bytes and headers to what an MCP client asks: pure, and never an exception but `Refused`."""
