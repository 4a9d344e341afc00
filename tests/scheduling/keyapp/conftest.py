"""The movable clock."""

from __future__ import annotations

from sayso.testing.store import clock

__all__ = ("clock",)
