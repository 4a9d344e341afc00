"""Which optional features a request elects, and the one refusal it may be owed (OAP-016, OAP-029, OAP-048).

The rungs, most permanent first: not advertised, degraded without leave, a value that cannot be honoured, the state of
the session. Within a rung the lower key counts. The rung is read when the request is made and settled by its answer: an
answer that goes on where a refusal was due is a fault, and so is a refusal that does not say what to change. A refusal
that was not due is a fault as well. Where the descriptor moved in between nothing is judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.validator.rules.capabilities import Capabilities

__all__ = ("CONTROLS", "ELSEWHERE", "Owed", "elections", "first_rung", "leave_of")

CONTROLS = {
    "model_id": "run.model_selection",
    "instructions": "run.instructions",
    "tool_choice": "run.tool_selection",
    "output_schema": "run.structured_output",
}
"""Each control of a submission, and the key that governs it."""

ATTACH, PROVIDE, QUEUE = "action.tool_sources.attach", "action.tools.provide", "session.message.delivery.queue"
CORE = frozenset(("session.model.switch", "run.cancel"))
"""Keys of the core: missing from a descriptor says nothing, only `unavailable` does."""

ELSEWHERE = frozenset(
    (
        "stale_capabilities", "unknown_session", "session_closed", "session_exists", "scope_mismatch", "type_mismatch",
        "unknown_adapter", "probe_failed", "open_failed", "busy", "malformed_json", "schema_invalid",
        "request_too_large", "response_too_large", "run_not_found", "run_terminal", "run_already_terminal",
    )
)  # fmt: skip
"""Refusals about the envelope, the binding or the session: they stand before every rung and say nothing of it."""

_SETTINGS = {"reasoning_level": "session.reasoning", "compaction_policy": "session.compaction.policy"}
_LISTS = {
    "models.request": "models.list",
    "action.tools.list.request": "action.tools.list",
    "session.provider.attach.request": "action.providers.attach",
    "session.model.switch.request": "session.model.switch",
    "auth.providers.request": "auth.providers",
    "auth.login.start.request": "auth.login",
    "auth.login.cancel.request": "auth.login",
    "run.cancel.request": "run.cancel",
}


class Owed(msgspec.Struct, frozen=True):
    """The refusal a request must get."""

    rung: Literal["unadvertised", "degraded"]
    key: str
    code: str
    diagnostic: str
    is_reasoned: bool = True
    """The refusal says `unadvertised`, too."""


def elections(type_name: str, payload: Any) -> list[str]:
    """The keys of the optional features a request uses. A control that is present counts, be it empty."""
    if type_name in ("session.message.submit.request", "session.compact.request", "session.open.request"):
        return list(_work_elections(type_name, payload))
    key = _LISTS.get(type_name)
    return [] if key is None else [key]


def _work_elections(type_name: str, payload: Any) -> Iterator[str]:
    message = payload
    if type_name == "session.open.request":
        yield from _open_elections(payload)
        message = payload.message
    if type_name == "session.compact.request" and payload.delivery not in ("steer", "btw"):
        yield "session.compact"
    if message is UNSET:
        return
    for member, key in CONTROLS.items():
        if getattr(message, member, UNSET) is not UNSET:
            yield key
    if message.delivery in ("queue", "steer", "btw"):
        yield f"session.message.delivery.{message.delivery}"


def _open_elections(payload: Any) -> Iterator[str]:
    if payload.tool_sources:
        yield ATTACH
    if payload.tools:
        yield PROVIDE
    if payload.subscribe is True:
        yield "session.open.subscribe"
    if payload.reopen is True:
        yield "session.open.reopen"
    for member, key in _SETTINGS.items():
        if getattr(payload, member) is not UNSET:
            yield key


def leave_of(payload: Any) -> frozenset[str]:
    """The degraded features a request allows, an open's message included."""
    allowed = set(getattr(payload, "allow_degraded_features", UNSET) or ())
    message = getattr(payload, "message", UNSET)
    if message is not UNSET:
        allowed |= set(message.allow_degraded_features or ())
    return frozenset(allowed)


def first_rung(type_name: str, payload: Any, capabilities: Capabilities) -> Owed | None:
    """The refusal this request is owed for what the descriptor says; None when the descriptor allows it."""
    keys = sorted(elections(type_name, payload))
    if type_name == "session.compact.request" and payload.delivery in ("steer", "btw"):
        # A compaction guides nothing: no descriptor can allow this delivery.
        key = f"session.message.delivery.{payload.delivery}"
        return Owed("unadvertised", key, "unsupported_feature", "unavailable_capability", is_reasoned=False)
    for key in keys:
        if not _is_offered(key, capabilities):
            return Owed("unadvertised", key, "unsupported_feature", "unavailable_capability")
    leave = leave_of(payload)
    for key in keys:
        if capabilities.level(key) == "degraded" and key not in leave and not _is_plain_compaction(key, payload):
            return Owed("degraded", key, "capability_degraded", "degraded_without_optin")
    return None


def _is_offered(key: str, capabilities: Capabilities) -> bool:
    if key in CORE:
        return capabilities.level(key) != "unavailable"
    if key == ATTACH and not capabilities.has_mode(key, "session_open"):
        return False
    return capabilities.offers(key)


def _is_plain_compaction(key: str, payload: Any) -> bool:
    """A degraded `session.compact` cannot honour `focus`; without one there is nothing to allow."""
    return key == "session.compact" and payload.focus is UNSET
