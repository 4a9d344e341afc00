"""A seat at our own loop for a process of its own: a scripted model, strange tools, conversations that are kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from typing import cast

import anyio

from sayso.apps.agent_home import Agent
from sayso.apps.tui.seat import Seat, Wanted
from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.client.local import LocalClient
from sayso.control.hub.history_file import HistoryFile
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.loop.contract import ToolAnswer, ToolCall, ToolDone, ToolOutcome, ToolSpec
from sayso.control.loop.saved import SavedConversations
from sayso.control.protocol.payloads.content import text_of
from sayso.control.protocol.payloads.inference import InferenceCreateRequest
from sayso.core.clock import SystemClock
from sayso.core.ids import SystemIds
from sayso.testing.provider import Call, Say, ScriptedProvider, Step

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[Hred \x1b[31mRED\x1b[0m \x9b5mC1\x07 plain end"
TOOLS = ("read_mail", "wait_for_ever")


class Notes:
    """A tool that answers with what a stranger wrote, and one that never comes to an end."""

    id = "notes"

    def tools(self) -> Sequence[ToolSpec]:
        return tuple(ToolSpec(name, name, {"type": "object"}, {"readOnlyHint": True}) for name in TOOLS)

    async def call(self, call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        if call.name == "wait_for_ever":
            await anyio.sleep_forever()
        return ToolDone({"mail": HOSTILE})

    async def abandon(self, call: ToolCall) -> None:
        """Nothing is held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSeat:
    """A seat of a home, without models of a person's and without a workspace."""

    client: LocalClient
    conversations: SavedConversations
    history: HistoryFile
    adapter: str = "own"
    notice: None = None
    house: None = None
    providers: None = None

    async def session_of(self, native_id: str) -> str | None:
        """As every home finds it."""
        return await Agent.session_of(cast("Agent", self), native_id)

    async def native_of(self, session_id: str) -> str | None:
        """As every home finds it."""
        return await Agent.native_of(cast("Agent", self), session_id)

    async def is_sandboxed(self) -> bool:
        """It runs no commands."""
        return True


def turn(request: InferenceCreateRequest) -> Sequence[Step]:
    """A message that names a tool calls it; anything else is answered in words."""
    last = request.messages[-1]
    said = text_of(last.content)
    if last.role == "user" and said in TOOLS:
        return (Say("I look. "), Call(said, {}))
    heard = sum(message.role == "user" for message in request.messages)
    return (Say(f"Answer to {said[:40]!r}; "), Say(f"messages of yours: {heard}."))


@asynccontextmanager
async def opens(wanted: Wanted) -> AsyncIterator[Seat]:
    """Opens it."""
    clock, ids = SystemClock(), SystemIds()
    provider = ScriptedProvider([turn] * 100, ids=ids)
    kept = SavedConversations(wanted.home / "sessions", clock=clock)
    loop = OwnLoop(provider, [Notes()], clock=clock, ids=ids, model_ref="scripted/one", conversations=kept)
    with closing(HistoryFile(wanted.home / "sessions.jsonl", issuer=ids.new("hub"))) as history:
        async with Hub(Registry({"own": loop}), clock=clock, ids=ids, history=history) as hub:
            yield KeptSeat(client=LocalClient(hub, ids=ids), conversations=kept, history=history)


@asynccontextmanager
async def breaks(wanted: Wanted) -> AsyncIterator[Seat]:
    """Has a bug."""
    raise ZeroDivisionError("a bug with a secret in it")
    yield
