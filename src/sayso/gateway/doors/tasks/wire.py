"""The task feed's documents, closed (GTW-005, GTW-006)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

__all__ = ("Delivered", "Failure", "Feed", "Kept", "OpenTask", "Result", "Why")


class OpenTask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run that waits for its agent."""

    id: str
    task_type: str
    budget_cents: int
    approved_by: str
    approved_at: datetime
    input: Any
    domain_key: str | None
    reason: str


class Feed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer to `GET /api/protocols/tasks`; `agent` is the caller's id."""

    agent: str
    tasks: list[OpenTask]
    ok: Literal[True] = True


class Result(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an agent posts. Any JSON may be the body, `null` too, but it has to be there."""

    body: Any
    artifact_type: str | None = None


class Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An artifact: the SHA-256 of its body in canonical JSON, in base64url as receipts link to it."""

    artifact_type: str
    sha256: str


class Delivered(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer to a result, the first time and every time it is posted again."""

    agent: str
    run_id: str
    artifact: Kept
    status: Literal["executed"] = "executed"
    ok: Literal[True] = True


class Why(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A refusal's own words."""

    code: str
    message: str
    reason: str | None = None
    place: str | None = None
    help: str | None = None
    details: dict[str, Any] = {}
    left: int | None = None
    retry_after: int | None = None


class Failure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every answer of this door that is a no."""

    error: Why
    ok: Literal[False] = False
