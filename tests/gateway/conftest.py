"""What the tests of the gateway share: a movable clock, and both engines where the store matters."""

from __future__ import annotations

from sayso.testing.postgres import postgres, postgres_server
from sayso.testing.store import clock, location, store

__all__ = ("clock", "location", "postgres", "postgres_server", "store")
