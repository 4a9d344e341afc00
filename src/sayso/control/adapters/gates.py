"""What a request elects, held against what an adapter advertises: one refusal, ranked (OAP-015, 016, 018, 048).

A member that is present counts even when it is empty; a switch counts when it is on. First come features that are not
advertised, then those degraded without the opt-in; among equals the lexically lower key is named. What can be judged
only by the adapter, values it cannot honour and then the session's state, comes behind these. Nothing has been
allocated when a gate refuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sayso.control.adapters.contract import Descriptor
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.compaction import SessionCompactRequest
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Texts, Wire
from sayso.control.protocol.payloads.session import MessageSubmitRequest, OpenMessage, SessionOpenRequest
from sayso.core.refusal import Refused

__all__ = (
    "RUN_CONTROLS",
    "verify_attachment",
    "verify_compact",
    "verify_feature",
    "verify_open",
    "verify_pin",
    "verify_revision",
    "verify_submit",
    "verify_subscription",
)

RUN_CONTROLS: Mapping[str, str] = {
    "model_id": "run.model_selection",
    "instructions": "run.instructions",
    "tool_choice": "run.tool_selection",
    "output_schema": "run.structured_output",
}
"""The four controls of a submission, each on a key of its own (OAP-047)."""
_OPEN_FEATURES: Mapping[str, str] = {
    "subscribe": "session.open.subscribe",
    "reopen": "session.open.reopen",
    "tool_sources": "action.tool_sources.attach",
    "tools": "action.tools.provide",
    "recovery": "run.resume",
    "reasoning_level": "session.reasoning",
    "compaction_policy": "session.compaction.policy",
}
_OPEN_MODES: Mapping[str, str] = {
    "action.tool_sources.attach": "tool_sources",
    "session.reasoning": "reasoning_level",
    "session.compaction.policy": "compaction_policy",
}
"""Features that may be elected at open only where they disclose the mode `session_open`, and the member that does."""
_TARGET = {"target_run_id": "session.message.delivery.steer"}


def verify_open(request: Envelope[SessionOpenRequest], descriptor: Descriptor) -> None:
    """Raises `Refused`: `stale_capabilities`, `unsupported_feature`, `capability_degraded`."""
    verify_pin(request, descriptor)
    payload = request.payload
    elected = _elected(payload, _OPEN_FEATURES)
    if payload.message is not UNSET:
        elected |= _of_message(payload.message)
    _verify_elected(elected, descriptor, _allowed(payload, payload.message))
    for key in sorted(elected & set(_OPEN_MODES)):
        _verify_mode(key, "session_open", _OPEN_MODES[key], descriptor)


def verify_attachment(request: Envelope[SessionOpenRequest], descriptor: Descriptor) -> None:
    """What an attaching open needs before its sources are looked at (OAP-065, 090); another one passes.

    Raises `Refused`: `stale_capabilities`, `unsupported_feature`, `capability_degraded`.
    """
    if request.payload.tool_sources is UNSET:
        return
    verify_pin(request, descriptor)
    key = _OPEN_FEATURES["tool_sources"]
    _verify_elected((key,), descriptor, request.payload.allow_degraded_features)
    _verify_mode(key, "session_open", _OPEN_MODES[key], descriptor)


def verify_subscription(request: Envelope[SessionOpenRequest], descriptor: Descriptor) -> None:
    """What an open that subscribes needs before its adapter is asked (OAP-090); another one passes.

    Raises `Refused`: `stale_capabilities`, `unsupported_feature`, `capability_degraded`.
    """
    if request.payload.subscribe not in (UNSET, False):
        verify_feature(request, descriptor, _OPEN_FEATURES["subscribe"])


def verify_submit(request: Envelope[MessageSubmitRequest], descriptor: Descriptor) -> None:
    """Raises `Refused`: `stale_capabilities`, `unsupported_feature`, `capability_degraded`."""
    verify_pin(request, descriptor)
    _verify_elected(_of_message(request.payload), descriptor, request.payload.allow_degraded_features)


def verify_compact(request: Envelope[SessionCompactRequest], descriptor: Descriptor) -> None:
    """A compaction is started or queued; it is no guidance into a run and no side question (OAP-072).

    Raises `Refused`: `stale_capabilities`, `unsupported_feature`, `capability_degraded`.
    """
    verify_pin(request, descriptor)
    payload = request.payload
    delivery = payload.delivery or "auto"
    elected = {"session.compact", f"session.message.delivery.{delivery}"}
    _verify_elected(elected, descriptor, payload.allow_degraded_features)
    if delivery in ("steer", "btw"):
        details = {"feature": f"session.message.delivery.{delivery}", "reason": "unsatisfiable"}
        raise Refused.because("unsupported_feature", "a compaction is started or queued", details=details)


def verify_feature(request: Envelope[Any], descriptor: Descriptor, key: str, *, mode: str | None = None) -> None:
    """One feature, elected by the request's type; `mode` is what the feature must disclose as well.

    Raises `Refused`: `stale_capabilities`, `unsupported_feature`, `capability_degraded`.
    """
    verify_pin(request, descriptor)
    _verify_elected((key,), descriptor, getattr(request.payload, "allow_degraded_features", UNSET))
    if mode is not None:
        _verify_mode(key, mode, None, descriptor)


def _of_message(payload: MessageSubmitRequest | OpenMessage) -> set[str]:
    return {f"session.message.delivery.{payload.delivery}", *_elected(payload, {**RUN_CONTROLS, **_TARGET})}


def _allowed(payload: SessionOpenRequest, message: Maybe[OpenMessage]) -> Texts:
    inner = UNSET if message is UNSET else message.allow_degraded_features
    return (*(payload.allow_degraded_features or ()), *(inner or ()))


def _elected(payload: Wire, features: Mapping[str, str]) -> set[str]:
    return {key for member, key in features.items() if getattr(payload, member) not in (UNSET, False)}


def verify_pin(request: Envelope[Wire], descriptor: Descriptor) -> None:
    """Whatever is asked: who pins another revision asks for what is here no more. Raises `Refused`
    `stale_capabilities`.
    """
    verify_revision(request, descriptor.revision)


def verify_revision(request: Envelope[Wire], revision: str) -> None:
    """The same against a revision alone, as an answer states it."""
    cited = request.capability_revision
    if cited is UNSET or cited == revision:
        return
    details = {"expected_revision": revision, "current_revision": cited}
    raise Refused.because("stale_capabilities", "the request cites another capability revision", details=details)


def _verify_elected(elected: Iterable[str], descriptor: Descriptor, allowed: Maybe[Texts]) -> None:
    advertised = descriptor.capabilities.features or {}
    levels = {key: advertised[key].level if key in advertised else "unavailable" for key in sorted(elected)}
    for key, level in levels.items():
        if level == "unavailable":
            details = {"feature": key, "reason": "unadvertised"}
            raise Refused.because("unsupported_feature", f"{key} is not offered here", details=details)
    for key, level in levels.items():
        if level == "degraded" and key not in (allowed or ()):
            raise Refused.because("capability_degraded", f"{key} is degraded here", details={"feature": key})


def _verify_mode(key: str, mode: str, member: str | None, descriptor: Descriptor) -> None:
    support = (descriptor.capabilities.features or {})[key]
    if mode in (support.modes or ()):
        return
    details = {"feature": key, "reason": "unadvertised"} | ({"field": member} if member else {})
    raise Refused.because("unsupported_feature", f"{key} does not disclose the mode {mode}", details=details)
