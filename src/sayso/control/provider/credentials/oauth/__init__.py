"""Signing in by OAuth: on another device (RFC 8628), or in a browser that comes back to loopback (RFC 8252)."""
