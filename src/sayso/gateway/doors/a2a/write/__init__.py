"""Answers in the spelling of A2A 0.3 (JSON-RPC, REST) and 1.0. Pure."""
