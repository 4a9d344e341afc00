"""The host's tests run on real databases of both engines, and over real sockets."""

from __future__ import annotations

from sayso.testing.postgres import postgres, postgres_server
from sayso.testing.store import clock, location, store

__all__ = ("clock", "location", "postgres", "postgres_server", "store")
