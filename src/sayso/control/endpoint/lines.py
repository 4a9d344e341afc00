"""The lines of an endpoint: which of five things a line is, before anything in it is decoded (OAP-127, 128).

    no JSON object, or over the bound     fatal: where the next line begins is in doubt
    `control`, and no `protocol`          a control frame: answered, whether or not we know it
    `protocol`, and an `id`               an envelope: at worst refused under its id
    `protocol`, and no `id`               fatal: nothing could say which request an answer is for
    neither                               fatal: nothing says what the line is

An envelope's id is a text; one that is not cannot be answered either, because `in_reply_to` is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Natural, OpaqueId, Wire
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = (
    "ControlLine",
    "EnvelopeLine",
    "ReplayAccepted",
    "ReplayError",
    "ReplayGap",
    "ReplayRequest",
    "StreamLost",
    "read_line",
    "read_replay",
)


@dataclass(frozen=True, slots=True)
class ControlLine:
    """A control frame; `id` as far as it has one."""

    control: object
    id: str | None
    value: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class EnvelopeLine:
    """Something that says it is an envelope and can be answered."""

    id: str
    value: Mapping[str, object]


class ReplayRequest(Wire, frozen=True, kw_only=True):
    """The host wants a run's events again, from behind `after`; without a run the session's current one is meant."""

    control: Literal["replay"]
    id: OpaqueId
    session_id: OpaqueId
    after: Natural
    run_id: Maybe[OpaqueId] = UNSET


class ReplayAccepted(Wire, frozen=True, kw_only=True):
    """The kept events behind `after` follow, then live ones."""

    control: Literal["replay.accepted"] = "replay.accepted"
    id: str
    run_id: str
    after: int


class ReplayGap(Wire, frozen=True, kw_only=True):
    """They are no longer kept; these are. Ask again from `oldest_available` - 1."""

    control: Literal["replay.gap"] = "replay.gap"
    id: str
    requested_after: int
    oldest_available: int
    latest_available: int


class ReplayError(Wire, frozen=True, kw_only=True):
    """No replay."""

    control: Literal["replay.error"] = "replay.error"
    id: Maybe[str] = UNSET
    code: str
    message: str


class StreamLost(Wire, frozen=True, kw_only=True):
    """A run's events stopped coming: replay from `after` to go on."""

    control: Literal["stream.lost"] = "stream.lost"
    run_id: str
    after: int
    code: Literal["overflow", "frame_limit", "stream_failed"]
    message: str


def read_line(line: bytes) -> ControlLine | EnvelopeLine:
    """What a line is. Raises `Refused` `malformed_line`, which is fatal."""
    try:
        value = strictjson.parse(line)
    except Refused as refused:
        raise _malformed(f"it is no JSON: {refused.refusal.message} ({refused.refusal.place})") from None
    if not isinstance(value, Mapping):
        raise _malformed("it is no JSON object")
    found = value.get("id")
    line_id = found if isinstance(found, str) and found else None
    if "protocol" in value:
        if line_id is None:
            raise _malformed("an envelope without an `id` cannot be answered")
        return EnvelopeLine(line_id, value)
    if "control" in value:
        return ControlLine(value["control"], line_id, value)
    raise _malformed("it is neither an envelope nor a control frame")


def read_replay(frame: ControlLine) -> ReplayRequest:
    """Raises `Refused`: `unsupported_control`, `invalid_request`."""
    if frame.control != "replay":
        raise Refused.because("unsupported_control", "this endpoint knows the control `replay` alone")
    try:
        return msgspec.convert(frame.value, ReplayRequest, strict=True)
    except msgspec.ValidationError as error:
        raise Refused.because("invalid_request", str(error)[:300]) from None


def _malformed(why: str) -> Refused:
    return Refused.because("malformed_line", why[:300])
