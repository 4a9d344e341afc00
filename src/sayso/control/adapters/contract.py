"""The adapter port: what the hub knows of whatever runs agents (OAP-041, OAP-042).

An adapter says what it supports and opens sessions. A session takes requests as envelopes and answers with payloads;
correlation, journal, subscriptions and replay are the hub's. Refusals are `Refused` with a code of `protocol.codes`,
raised before anything was allocated. Optional units are further methods, found by their protocol below and advertised
in the descriptor; a key that is not advertised has no method behind it, and the hub refuses it by its name.

Some units need no method: run controls, queue and steer come through `submit`; settings, attached tool sources and
tools of the client come through `open`. An open's `subscribe` and `message` are served by whoever hosts the session: it
opens, then submits the message as a submit whose envelope has the open request's id, and closes the session again if
that is refused. The adapter only gates them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from anyio.abc import TaskGroup

from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import (
    ActionCallResolveRequest,
    ActionCallResolveResponse,
    ToolsListRequest,
    ToolsListResponse,
)
from sayso.control.protocol.payloads.auth import (
    AuthLoginCancelRequest,
    AuthLoginCancelResponse,
    AuthLoginStartRequest,
    AuthLoginStartResponse,
    AuthProvidersResponse,
)
from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse
from sayso.control.protocol.payloads.compaction import SessionCompactRequest, SessionCompactResponse
from sayso.control.protocol.payloads.models import (
    ModelsRequest,
    ModelsResponse,
    ModelSwitchRequest,
    ModelSwitchResponse,
    ProviderAttachRequest,
    ProviderAttachResponse,
)
from sayso.control.protocol.payloads.run import RunCancelRequest, RunCancelResponse
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.payloads.session import (
    MessageSubmitRequest,
    MessageSubmitResponse,
    SessionOpenRequest,
    SessionState,
)

__all__ = (
    "Adapter",
    "AdapterSession",
    "AttachesProviders",
    "Authenticates",
    "Compacts",
    "Descriptor",
    "ListsModels",
    "ListsTools",
    "MeetsParticipant",
    "Reopens",
    "ResolvesCalls",
    "Resumes",
    "SwitchesModels",
    "TellsSession",
)


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What an adapter supports, under an opaque revision that changes when it does."""

    revision: str
    capabilities: CapabilitiesResponse


class AdapterSession(Protocol):
    """One open session."""

    @property
    def id(self) -> str:
        """The session's id on the wire."""
        ...

    async def submit(self, request: Envelope[MessageSubmitRequest]) -> MessageSubmitResponse:
        """Admits a message as a run, or refuses: `run_active`, `unsupported_feature`, `invalid_submission`, ..."""
        ...

    def events(self, run_id: str) -> AsyncIterator[Envelope[Wire]]:
        """The events of an admitted run, from its first to its terminal, read once and by one reader.

        Until the terminal was read the run counts as live for `submit` too.
        They are numbered from 1 without gaps. `run.cancelled` is never yielded before the `cancel` that caused it has
        returned. A stream that ends without a terminal is taken as the loss of the run.
        """
        ...

    async def resolve(self, request: Envelope[Wire]) -> Wire:
        """Answers an interaction with the response payload of the request's kind, or refuses: `resolution_rejected`."""
        ...

    async def cancel(self, request: Envelope[RunCancelRequest]) -> RunCancelResponse:
        """Takes the wish to end a run; refuses `run_not_found`, `run_terminal`. Repeating it is harmless."""
        ...

    async def state(self) -> SessionState:
        """The whole state now."""
        ...

    async def close(self) -> None:
        """Ends the session, cancelling a live run first, and releases what it holds; a second close does nothing."""
        ...


@runtime_checkable
class ListsTools(Protocol):
    """The optional unit `action.tools.list`."""

    async def tools(self, request: ToolsListRequest) -> ToolsListResponse:
        """Every tool of the session, each under its source."""
        ...


@runtime_checkable
class ListsModels(Protocol):
    """The optional unit `models.list`."""

    async def models(self, request: ModelsRequest) -> ModelsResponse:
        """The session's whole catalog; a model it leaves out is refused `model_not_found`, one it lists never is."""
        ...


@runtime_checkable
class SwitchesModels(Protocol):
    """The unit `session.model.switch`."""

    async def switch_model(self, request: Envelope[ModelSwitchRequest]) -> ModelSwitchResponse:
        """Changes the model of later starts, promotions among them; refuses `model_not_found`. The new state is told
        by `session_events`.
        """
        ...


@runtime_checkable
class AttachesProviders(Protocol):
    """The optional unit `action.providers.attach`."""

    async def attach_provider(self, request: Envelope[ProviderAttachRequest]) -> ProviderAttachResponse:
        """Adds a provider's models to the session's catalog; refuses `unsupported_feature`, `provider_conflict`."""
        ...


@runtime_checkable
class ResolvesCalls(Protocol):
    """What `action.tools.provide` needs: the client runs its own tools and says how they ended."""

    async def resolve_call(self, request: Envelope[ActionCallResolveRequest]) -> ActionCallResolveResponse:
        """Accepts a beginning, a result or an error; what cannot count is an answer with its reason, not a refusal."""
        ...


@runtime_checkable
class Compacts(Protocol):
    """The optional unit `session.compact`."""

    async def compact(self, request: Envelope[SessionCompactRequest]) -> SessionCompactResponse:
        """Admits a compaction as a run, by the rules of `submit`; its events are read like any run's."""
        ...


@runtime_checkable
class TellsSession(Protocol):
    """A session with events of its own: `session.state.updated`."""

    def session_events(self) -> AsyncIterator[Envelope[Wire]]:
        """The session's events, numbered from 1 in their own domain, read once and by one reader, until it closes."""
        ...


@runtime_checkable
class Resumes(Protocol):
    """The optional unit `run.replay`: what a session keeps of its runs' events."""

    def resume(self, run_id: str, after: int) -> AsyncIterator[Envelope[Wire]]:
        """The kept events behind `after`, then live ones to the run's terminal; any number of readers.

        Refuses `run_not_found`, `replay_cursor_future`, and `replay_gap` with `oldest_available` and
        `latest_available`. A reader that falls behind what is kept gets `overflow` with `run_id` and `last_sequence`;
        the run never waits.
        """
        ...


@runtime_checkable
class Reopens(Protocol):
    """The optional unit `session.open.reopen`: a conversation of an earlier session can be loaded."""

    def native_id(self, session: AdapterSession) -> str:
        """The name under which the harness keeps this session's conversation; no credential."""
        ...

    async def reopen(
        self, request: Envelope[SessionOpenRequest], session_id: str, native_id: str, tasks: TaskGroup
    ) -> AdapterSession:
        """Loads it. Its state says `recovery.recovered`, the model and settings it really has, and no run; refuses
        `unsupported_feature` when the harness cannot.
        """
        ...


@runtime_checkable
class Authenticates(Protocol):
    """The optional unit `auth.providers` and `auth.login`, of an adapter and not of a session."""

    async def auth_providers(self) -> AuthProvidersResponse:
        """How each provider takes a credential and stands with one now."""
        ...

    async def login(self, request: Envelope[AuthLoginStartRequest]) -> AuthLoginStartResponse:
        """Starts a flow; refuses `unknown_provider`."""
        ...

    def login_events(self, flow_id: str) -> AsyncIterator[Envelope[Wire]]:
        """The flow's events, numbered from 1, to its terminal; read once, by one reader, after `login` has answered."""
        ...

    async def cancel_login(self, request: Envelope[AuthLoginCancelRequest]) -> AuthLoginCancelResponse:
        """Takes the wish to end a flow; refuses `unknown_login`. Repeating it is harmless."""
        ...


@runtime_checkable
class MeetsParticipant(Protocol):
    """An adapter that is told who asks; without it the other side is participant `user`."""

    def meet(self, participant_id: str) -> None:
        """Who answers questions and owns provided tools from now on."""
        ...


class Adapter(Protocol):
    """One way to run agents."""

    async def probe(self) -> Descriptor:
        """What it supports now; refuses `probe_failed`."""
        ...

    async def open(self, request: Envelope[SessionOpenRequest], session_id: str, tasks: TaskGroup) -> AdapterSession:
        """Opens a session under this id. Its work in the background runs in `tasks`, which end with the hub; it
        refuses `unsupported_feature`, `stale_capabilities`, `capability_degraded`, `open_failed`.
        """
        ...
