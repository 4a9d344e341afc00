"""Clients of a hub: the same methods over HTTP and server-sent events, and in process."""
