"""The adapter port: what the hub knows of whatever runs agents (OAP-041, OAP-042).

An adapter says what it supports and opens sessions. A session takes requests as envelopes and answers with payloads;
correlation, journal, subscriptions and replay are the hub's. Refusals are `Refused` with a code of `protocol.codes`,
raised before anything was allocated. Optional units are further methods, found by their protocol below and advertised
in the descriptor.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from anyio.abc import TaskGroup

from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import ToolsListRequest, ToolsListResponse
from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse
from sayso.control.protocol.payloads.run import RunCancelRequest, RunCancelResponse
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.protocol.payloads.session import (
    MessageSubmitRequest,
    MessageSubmitResponse,
    SessionOpenRequest,
    SessionState,
)

__all__ = ("Adapter", "AdapterSession", "Descriptor", "ListsTools")


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
