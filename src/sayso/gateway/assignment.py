"""Assigned work as values, for whoever shows it or hands it out (GTW-005, GTW-006)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from sayso.core.strictjson import JsonValue

__all__ = ("Artifact", "Assignment", "State")

State: TypeAlias = Literal["assigned", "executed", "withdrawn"]


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of assigned work. `artifact_sha256` is base64url, as receipts link to it."""

    id: str
    agent: str
    task_type: str
    input: JsonValue
    budget_cents: int
    domain_key: str | None
    reason: str
    approved_by: str
    approved_at: datetime
    state: State
    settled_at: datetime | None = None
    artifact_type: str | None = None
    artifact_sha256: str | None = None


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent delivered: its bytes are the body in canonical JSON, and their hash its name."""

    sha256: str
    data: bytes
    stored_at: datetime
