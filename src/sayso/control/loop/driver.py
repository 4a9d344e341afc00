"""Carries out what one run of the loop decides: inferences, tool calls, what is told and what is kept.

Everything that happens is one synchronous `send`: decide, keep the new state, do the effects. Work that takes time runs
as tasks in the session's group; each reports back through `send`, and the machine drops what comes too late. At most
one piece of work is in flight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import anyio
import structlog
from anyio.abc import TaskGroup
from msgspec.structs import replace

from sayso.control.loop.contract import ToolCall, ToolDone, ToolOutcome, ToolSource
from sayso.control.loop.conversations import OpenConversation
from sayso.control.loop.machine import begin, decide
from sayso.control.loop.run import (
    Abandon,
    Abandoned,
    Broke,
    CallTool,
    Command,
    Decision,
    Effect,
    Heard,
    Infer,
    Keep,
    LoopRun,
    Lost,
    Phase,
    Returned,
    StopFlight,
    Tell,
    Unwound,
)
from sayso.control.loop.told import RunTold
from sayso.control.protocol.envelope import ProviderEnvelope
from sayso.control.protocol.payloads.error import ProtocolError
from sayso.control.protocol.payloads.inference import InferenceCancelRequest, InferenceCreateRequest
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.provider.contract import Provider
from sayso.control.provider.machine import Inference
from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.ids import Ids
from sayso.core.refusal import Corrupt, Misuse, PeerRefused, PeerUnreachable, Refusal, Refused

__all__ = ("Means", "RunDriver")

_STOP_SECONDS = 2.0
"""How long a provider that accepted a cancel has to settle before its stream is closed on it."""
_RELEASE_SECONDS = 10.0
"""How long the tool sources have to let go of an ended run's calls."""
_UNTELLABLE = "the tool answered with something that cannot be written as JSON"
_TERMINALS = ("inference.completed", "inference.failed")

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Means:
    """What a run works with; without a conversation nothing is kept."""

    provider: Provider
    sources: Mapping[str, ToolSource]
    clock: Clock
    ids: Ids
    tasks: TaskGroup
    conversation: OpenConversation | None = None


@dataclass(slots=True, eq=False)
class _Flight:
    """One piece of work under way."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    landed: anyio.Event = field(default_factory=anyio.Event)


class RunDriver:
    """Drives one run; `run` is its state, `told` what it tells."""

    def __init__(self, run: LoopRun, means: Means, told: RunTold) -> None:
        self.run = run
        self.told = told
        self.ended = anyio.Event()
        self._means = means
        self._flight = _Flight()
        self._is_left = False

    def start(self) -> None:
        """Tells `run.started` and begins to think."""
        self._keep(begin(self.run))

    def send(self, command: Command) -> None:
        """One thing that happened."""
        self._keep(decide(self.run, command))

    def leave(self) -> None:
        """The session has taken what there was to take: history is not held a second time, and nothing more is kept."""
        self._is_left = True
        run = replace(self.run, messages=(), said=(), reported=None, summary=None, used=frozenset())
        if run.phase is Phase.ENDED:
            run = replace(run, made=(), inference=Inference(request_id=""))
        self.run = run

    def _keep(self, decision: Decision) -> None:
        was = self.run.phase
        self.run = decision.run
        for effect in decision.effects:
            self._do(effect)
        if self.run.phase is Phase.ENDED and was is not Phase.ENDED:
            self.ended.set()

    def _do(self, effect: Effect) -> None:
        match effect:
            case Tell(telling):
                self.told.tell(telling)
            case Keep(step):
                if self._means.conversation is not None and not self._is_left:
                    self._means.conversation.keep(step)
            case Infer():
                self._flight = _Flight()
                self._means.tasks.start_soon(self._infer, effect, self._flight)
            case CallTool():
                self._flight = _Flight()
                self._means.tasks.start_soon(self._call, effect, self._flight)
            case StopFlight():
                self._stop(self._flight)
            case Abandon(calls):
                self._means.tasks.start_soon(self._abandon, calls)

    # --- inferences ---

    async def _infer(self, effect: Infer, flight: _Flight) -> None:
        request = ProviderEnvelope(type="inference.create.request", id=effect.request_id, payload=effect.request)
        lost: ProtocolError | None = None
        with flight.scope:
            lost = await self._listen(request)
        self._land(flight, lost)

    async def _listen(self, request: ProviderEnvelope[InferenceCreateRequest]) -> ProtocolError | None:
        """Hears one inference to its end; the error if it ended without one."""
        stream = self._means.provider.create(request)
        try:
            async for envelope in stream:
                self.send(Heard(envelope))
                if envelope.type in _TERMINALS or envelope.inference_id is UNSET:
                    return None
        except Misuse:
            raise
        except Exception as error:  # noqa: BLE001 - a provider or a tool that breaks ends its run, not the session
            _log.error("provider_broke", provider=self._means.provider.id, error=type(error).__name__)
            return ProtocolError(code="protocol_violation", message="the provider broke off in an unexpected way")
        finally:
            await _close(stream)
        return ProtocolError(code="provider_unavailable", message="the provider's stream ended early", retriable=True)

    def _land(self, flight: _Flight, lost: ProtocolError | None = None) -> None:
        flight.landed.set()
        if flight is not self._flight:
            return
        if self.run.phase is Phase.WINDING:
            self.send(Unwound())
        elif lost is not None:
            self.send(Lost(lost))

    def _stop(self, flight: _Flight) -> None:
        if flight.landed.is_set():
            self.send(Unwound())
        elif self.run.inference.inference_id is not None and not self.run.inference.is_settled:
            self._means.tasks.start_soon(self._stop_inference, flight, self.run.inference.inference_id)
        else:
            flight.scope.cancel()

    async def _stop_inference(self, flight: _Flight, inference_id: str) -> None:
        request = ProviderEnvelope(
            type="inference.cancel.request",
            id=f"{self.run.inference.request_id}.cancel",
            inference_id=inference_id,
            payload=InferenceCancelRequest(),
        )
        with anyio.move_on_after(_STOP_SECONDS):
            try:
                if (await self._means.provider.cancel(request)).payload.accepted:
                    await flight.landed.wait()
            except Misuse:
                raise
            except Exception as error:  # noqa: BLE001 - a provider that cannot be told has its stream closed on it
                _log.info("provider_not_cancelled", provider=self._means.provider.id, error=type(error).__name__)
        flight.scope.cancel()

    # --- tools ---

    async def _call(self, effect: CallTool, flight: _Flight) -> None:
        with flight.scope:
            self.send(await self._ask_source(effect))
        self._land(flight)

    async def _ask_source(self, effect: CallTool) -> Command:
        call = effect.call
        try:
            # What a tool does may outlive this process, so the call that made it do so is written first (OAP-164).
            if self._means.conversation is not None:
                await self._means.conversation.written()
        except Refused as refused:
            _log.error("conversation_not_saved", tool=call.name, reason=refused.refusal.reason)
            return Broke(call.tool_call_id, "the conversation could not be saved, so the tool was not called")
        try:
            outcome: ToolOutcome = await self._means.sources[effect.source].call(call, effect.answers)
        except Refused as refused:
            outcome = _error_result(refused.refusal)
        except PeerRefused as refused:
            outcome = _error_result(refused.refusal, peer=refused.peer)
        except PeerUnreachable as unreachable:
            refusal = Refusal(code="peer_unreachable", message=str(unreachable))
            outcome = _error_result(refusal, peer=unreachable.peer)
        except Misuse:
            raise
        except Exception as error:  # noqa: BLE001 - a provider or a tool that breaks ends its run, not the session
            what = str(error) if isinstance(error, Corrupt) else type(error).__name__
            _log.error("tool_broke", tool=call.name, source=effect.source, error=what)
            return Broke(call.tool_call_id)
        return Returned(call.tool_call_id, outcome) if _is_tellable(outcome) else Broke(call.tool_call_id, _UNTELLABLE)

    async def _abandon(self, calls: tuple[ToolCall, ...]) -> None:
        with anyio.move_on_after(_RELEASE_SECONDS, shield=True):
            for call in calls:
                source = self._means.sources[self.run.offers[call.name].source]
                try:
                    await source.abandon(call)
                except Misuse:
                    raise
                except Exception as error:  # noqa: BLE001 - a provider or a tool that breaks ends its run, not the session
                    _log.error("tool_kept_its_hold", tool=call.name, source=source.id, error=type(error).__name__)
        self.send(Abandoned())


def _error_result(refusal: Refusal, **more: str) -> ToolDone:
    """A refusal as a result the model can read."""
    result: dict[str, object] = {"error": refusal.code, "message": str(refusal), **more}
    if refusal.reason:
        result["reason"] = refusal.reason
    return ToolDone(result, is_error=True)


def _is_tellable(outcome: ToolOutcome) -> bool:
    """Whether what a tool said can be told and kept: half a character, as in some names of files, cannot."""
    said = outcome.result if isinstance(outcome, ToolDone) else (outcome.title, outcome.text, outcome.media_type)
    try:
        strictjson.encode(said)
    except Misuse:
        return False
    return True


async def _close(stream: object) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        with anyio.move_on_after(_STOP_SECONDS, shield=True):
            await close()
