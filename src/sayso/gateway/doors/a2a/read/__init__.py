"""Requests of A2A 0.3 and 1.0, by JSON-RPC and by REST, as one set of values. Pure."""
