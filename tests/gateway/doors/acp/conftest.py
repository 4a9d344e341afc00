"""What the door keeps is tested on both engines."""

from __future__ import annotations

from sayso.testing.postgres import postgres, postgres_server
from sayso.testing.store import location

__all__ = ("location", "postgres", "postgres_server")
