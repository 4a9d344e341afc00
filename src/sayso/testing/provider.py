"""A model that follows a script: each inference takes the next turn, in the profile's own shapes.

A turn is a sequence of steps, or a function of the request that returns one, so a script can answer what it is really
asked. Requests are kept in `requests` for tests to compare.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field

import anyio
import anyio.lowlevel

from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.content import Usage
from sayso.control.protocol.payloads.inference import (
    InferenceCancelRequest,
    InferenceCancelResponse,
    InferenceCreateRequest,
    ProviderErrorCode,
    StopReason,
)
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Wire
from sayso.control.provider.writer import InferenceWriter, write_cancel_response
from sayso.core.ids import Ids, SystemIds

__all__ = (
    "Call",
    "Fails",
    "Hangs",
    "RefusesCreate",
    "Say",
    "ScriptedProvider",
    "Step",
    "Stops",
    "Think",
    "Turn",
    "Vanishes",
)


@dataclass(frozen=True, slots=True)
class Say:
    """Text, in the pieces given."""

    deltas: tuple[str, ...]

    def __init__(self, *deltas: str) -> None:
        object.__setattr__(self, "deltas", deltas)


@dataclass(frozen=True, slots=True)
class Think:
    """Reasoning with its carry."""

    text: str
    carry: Maybe[str] = UNSET


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call."""

    name: str
    arguments: object = field(default_factory=dict)
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Stops:
    """Ends the turn with this stop reason; without it the reason is read off the parts."""

    reason: StopReason
    usage: Maybe[Usage] = UNSET


@dataclass(frozen=True, slots=True)
class Fails:
    """`inference.failed`."""

    code: ProviderErrorCode
    message: str = "the scripted model fails here"


@dataclass(frozen=True, slots=True)
class RefusesCreate:
    """The create is refused; nothing follows."""

    code: ProviderErrorCode
    message: str = "the scripted model refuses"


@dataclass(frozen=True, slots=True)
class Hangs:
    """Waits until the inference is cancelled, then settles as aborted."""


@dataclass(frozen=True, slots=True)
class Vanishes:
    """Ends without a terminal, as a broken transport would."""


Step = Say | Think | Call | Stops | Fails | RefusesCreate | Hangs | Vanishes
Turn = Sequence[Step] | Callable[[InferenceCreateRequest], Sequence[Step]]


class ScriptedProvider:
    """Plays `turns` in order; a request beyond the last one is refused as `resource_exhausted`."""

    def __init__(self, turns: Iterable[Turn], *, ids: Ids | None = None, id: str = "scripted") -> None:  # noqa: A002 - the port's own name
        self._turns = iter(turns)
        self._ids = ids or SystemIds()
        self._live: dict[str, anyio.Event] = {}
        self.id = id
        self.requests: list[InferenceCreateRequest] = []
        self.cancels = 0

    async def create(self, request: ProviderEnvelope[InferenceCreateRequest]) -> AsyncIterator[ProviderEnvelope[Wire]]:
        self.requests.append(request.payload)
        steps = self._next(request.payload)
        writer = InferenceWriter(request, self._ids)
        if isinstance(steps[0], RefusesCreate):
            yield writer.refuse(steps[0].code, steps[0].message)
            return
        stopped = self._live[writer.inference_id] = anyio.Event()
        try:
            yield writer.accept()
            yield writer.start()
            async for envelope in _play(writer, steps, stopped):
                yield envelope
        finally:
            del self._live[writer.inference_id]

    async def cancel(
        self, request: ProviderEnvelope[InferenceCancelRequest]
    ) -> ProviderEnvelope[InferenceCancelResponse]:
        self.cancels += 1
        live = self._live.get(str(request.inference_id))
        if live is not None:
            live.set()
        return write_cancel_response(request, accepted=live is not None, ids=self._ids)

    def _next(self, request: InferenceCreateRequest) -> Sequence[Step]:
        turn = next(self._turns, [RefusesCreate("resource_exhausted", "the script has ended")])
        return turn(request) if callable(turn) else turn


async def _play(
    writer: InferenceWriter, steps: Sequence[Step], stopped: anyio.Event
) -> AsyncIterator[ProviderEnvelope[Wire]]:
    for step in steps:
        if isinstance(step, Vanishes):
            return
        if isinstance(step, Hangs):
            await stopped.wait()
            yield writer.complete("aborted")
            return
        if isinstance(step, Fails):
            yield writer.fail(step.code, step.message)
            return
        if isinstance(step, Stops):
            yield writer.complete(step.reason, step.usage)
            return
        for envelope in _write(writer, step):
            yield envelope
            await anyio.lowlevel.checkpoint()
    yield writer.complete()


def _write(writer: InferenceWriter, step: Step) -> Iterable[ProviderEnvelope[Wire]]:
    match step:
        case Say(deltas):
            return writer.text(*deltas)
        case Think(text, carry):
            return writer.reasoning(text, carry=carry)
        case Call(name, arguments, tool_call_id):
            return writer.tool_call(name, arguments, tool_call_id=tool_call_id)
        case _:
            return ()
