"""What the script knows while it drives: what the endpoint said it can do, and how a request of each kind is written.

Requests are JSON values and not our own types: some of them are wrong on purpose. A feature counts as offered when the
descriptor lists it above `unavailable`; a degraded one is elected with leave. Requests pin the current revision, so
that the trace shows whether a pin is repeated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sayso.control.conformance.checks import Failed, Skipped
from sayso.control.conformance.host import Arrival, HostEnd, Value
from sayso.control.protocol.envelope import AGENT_PROFILE, PROTOCOL, VERSION
from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse, FeatureSupport
from sayso.control.protocol.payloads.error import ErrorResponse, ProtocolError
from sayso.core.ids import Ids

__all__ = ("CONTROLS", "PARTICIPANT", "STRANGER", "Run", "Talk", "refused_as")

PARTICIPANT = "user"
STRANGER = "conformance-stranger"
TEXT = "This is a conformance run. Please answer with one short sentence."

_SCOPE = ("session_id", "run_id", "tool_call_id")
CONTROLS = {
    "model_id": "run.model_selection",
    "instructions": "run.instructions",
    "tool_choice": "run.tool_selection",
    "output_schema": "run.structured_output",
}


@dataclass(slots=True)
class Run:
    """One admitted run, and how far its events were read."""

    id: str
    session_id: str
    read: int = 0
    unmet: Arrival | None = None
    """A gate that was read and not answered yet."""


@dataclass(slots=True)
class Talk:
    """One conversation with an endpoint. `model` is what the caller named, or the endpoint's own default."""

    host: HostEnd
    ids: Ids
    model: str | None = None
    revision: str = ""
    capabilities: CapabilitiesResponse | None = None
    session_id: str = ""
    run: Run | None = None
    terminal: Arrival | None = None
    asked: dict[str, int] = field(default_factory=dict)
    """How often each kind of gate was met in the first run."""
    faults: dict[str, list[str]] = field(default_factory=dict)
    """What was seen to be wrong while something else was driven, by the check it belongs to."""

    # --- what is offered ---

    def feature(self, key: str) -> FeatureSupport | None:
        """How a feature is offered; None when it is not."""
        features = self.capabilities.features if self.capabilities is not None else None
        found = (features or {}).get(key)
        return None if found is None or found.level == "unavailable" else found

    def offers(self, key: str) -> bool:
        """Whether a feature is offered, degraded or not."""
        return self.feature(key) is not None

    def need(self, key: str) -> FeatureSupport:
        """Raises `Skipped` for a feature that is not offered."""
        found = self.feature(key)
        if found is None:
            raise Skipped(f"`{key}` is not advertised")
        return found

    def carried(self, type_: str) -> None:
        """Raises `Skipped` for a request this binding has no form for."""
        if not self.host.port.binding.carries(type_):
            raise Skipped(f"this binding has no `{type_}`")

    def allowed(self, keys: Iterable[str]) -> list[str]:
        """Which of these features need leave, because they are degraded."""
        return sorted(key for key in keys if (found := self.feature(key)) is not None and found.level == "degraded")

    # --- what is asked ---

    def request(self, type_: str, payload: dict[str, Any], *, is_pinned: bool = True, **scope: str) -> dict[str, Any]:
        """An envelope with an id of its own; ids of the payload that scope it stand outside too."""
        outside: dict[str, Any] = {name: payload[name] for name in _SCOPE if name in payload}
        is_pinned = is_pinned and bool(self.revision) and type_ not in self.host.port.binding.unpinned
        pin = {"capability_revision": self.revision} if is_pinned else {}
        head = {"protocol": PROTOCOL, "version": VERSION, "profile": AGENT_PROFILE, "type": type_}
        return {**head, "id": self.ids.new("host"), "payload": payload, **outside, **pin, **scope}

    def opening(self, keys: Iterable[str] = (), **members: Any) -> dict[str, Any]:
        """`session.open.request`, for a session named here; `keys` are the features it elects."""
        if allowed := self.allowed(keys):
            members["allow_degraded_features"] = allowed
        return self.request("session.open.request", {"session_id": self.ids.new("conformance"), **members})

    def message(self, delivery: str = "auto", text: str = TEXT, **controls: Any) -> dict[str, Any]:
        """The members that a submission and an open's message share; the model is named where that is possible."""
        if self.model is not None and delivery != "steer":
            controls.setdefault("model_id", self.model)
        keys = {f"session.message.delivery.{delivery}", *(CONTROLS[name] for name in controls if name in CONTROLS)}
        if allowed := self.allowed(keys):
            controls["allow_degraded_features"] = allowed
        return {"messages": [{"role": "user", "content": text}], "delivery": delivery, **controls}

    def submission(self, delivery: str = "auto", *, session_id: str = "", **controls: Any) -> dict[str, Any]:
        """`session.message.submit.request`."""
        payload = {"session_id": session_id or self.session_id, **self.message(delivery, **controls)}
        return self.request("session.message.submit.request", payload)

    async def admit(self, submission: Value, *, session_id: str = "") -> tuple[Run, Arrival]:
        """Has a message or a compaction admitted as a run. Raises `Failed` for anything else."""
        arrival = await self.asked_for(submission)
        payload = arrival.payload
        if not payload.accepted or not payload.run_id:
            raise Failed(f"`{submission['type']}` was answered without a run")
        return Run(payload.run_id, session_id or self.session_id), arrival

    async def asked_for(self, request: Value) -> Arrival:
        """A request's success. Raises `Failed` for a refusal, or an answer of another kind."""
        arrival = await self.host.ask(request)
        payload, type_ = arrival.payload, str(request["type"])
        if isinstance(payload, ErrorResponse):
            raise Failed(f"`{type_}` was refused: {_said(payload.error)}")
        if arrival.type != f"{type_.removesuffix('.request')}.response":
            raise Failed(f"`{type_}` was answered with `{arrival.type}`")
        return arrival

    async def refused(self, request: Value, *codes: str, is_fault: bool = False) -> ProtocolError:
        """A request's refusal, with one of these codes where any are given. Raises `Failed` for anything else."""
        arrival = await self.host.ask(request, is_fault=is_fault)
        if not isinstance(arrival.payload, ErrorResponse):
            raise Failed(f"`{request['type']}` was answered with `{arrival.type}`, and had to be refused")
        error = arrival.payload.error
        if codes and error.code not in codes:
            raise Failed(
                f"`{request['type']}` was refused with `{error.code}` instead of `{codes[0]}`: {error.message}"
            )
        return error

    async def unadvertised(self, request: Value, key: str) -> str:
        """A feature that is not offered is refused by its name (OAP-004)."""
        refused_as(await self.refused(request, "unsupported_feature"), "feature", key)
        return f"not advertised, and refused by name: `{key}`"

    def note(self, check: str, fault: str) -> None:
        """Something was wrong that belongs to another check than the one that is driven."""
        self.faults.setdefault(check, []).append(fault)


def refused_as(error: ProtocolError, member: str, value: object) -> None:
    """Raises `Failed` unless the refusal's details say this."""
    found = (error.details or {}).get(member)
    if found != value:
        raise Failed(f"`{error.code}` has details.{member} {found!r} instead of {value!r}")


def _said(error: ProtocolError) -> str:
    return f"{error.code}, {error.message}"
