"""Instants as A2A has them: UTC with Z, and milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ("write_at",)


def write_at(instant: datetime) -> str:
    """`2026-10-13T13:05:00.250Z`; what is below a millisecond is cut off."""
    moment = instant.astimezone(UTC).replace(tzinfo=None)
    return f"{moment.isoformat(timespec='milliseconds')}Z"
