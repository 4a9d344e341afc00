"""The tools of one server for one session: what `Permitting` stands in front of.

A server that dies takes the call under way with it: an error result, since what it did is not known. The next call
starts the server again, once in `restart_seconds`; one that dies sooner stays dead and every call is refused. A server
started again offers what it lists then: a tool it has no longer is refused, whatever a person said before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import anyio

from sayso.control.loop.contract import ToolAnswer, ToolCall, ToolOutcome, ToolSpec
from sayso.control.loop.permitting import Preview, plain_preview, shown
from sayso.control.mcp_sources.catalog import Catalog
from sayso.control.mcp_sources.limits import Limits
from sayso.control.mcp_sources.results import read_result
from sayso.core.clock import Clock
from sayso.core.refusal import PeerUnreachable, Refusal, Refused

__all__ = ("Lives", "McpTools")


class Lives(Protocol):
    """One life of a server (`connection.Connection`)."""

    catalog: Catalog
    loss: Refusal | None

    async def start(self) -> None:
        """Starts it and reads its list. Refused: `open_failed`, with nothing of it left."""
        ...

    async def close(self) -> None:
        """Ends it; calling it again changes nothing."""
        ...

    async def renewed(self) -> None:
        """Waits until the list has been read again."""
        ...

    async def call(self, tool: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """The server's answer as plain JSON. PeerRefused, PeerUnreachable: there is none."""
        ...


class McpTools:
    """A `PreviewsCalls` over a server, which `begin` starts and `close` ends.

    With `always_asks` a person is asked about each call, in a session that bypasses too.
    """

    def __init__(
        self, source_id: str, revive: Callable[[], Lives], limits: Limits, clock: Clock, *, always_asks: bool = False
    ) -> None:
        self._id = source_id
        self._revive = revive
        self._limits = limits
        self._clock = clock
        self._always_asks = always_asks
        self._life = revive()
        self._revived_at: float | None = None
        self._is_closed = False
        self._one_at_a_time = anyio.Lock()

    @property
    def id(self) -> str:
        return self._id

    async def begin(self) -> None:
        """Refused `open_failed`."""
        await self._life.start()

    async def close(self) -> None:
        self._is_closed = True
        await self._life.close()

    async def renewed(self) -> None:
        """Waits until the server's list has been read again because the server said that it changed."""
        await self._life.renewed()

    def tools(self) -> Sequence[ToolSpec]:
        return self._life.catalog.specs

    async def preview(self, call: ToolCall) -> Preview:
        native = self._native(call.name)
        preview = plain_preview(call, title=f"Call {shown(native)} of {shown(self._id)}")
        return replace(preview, must_ask=self._always_asks)

    async def call(self, call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        if self._life.loss is not None:
            await self._begin_again()
        answer = await self._life.call(self._native(call.name), call.arguments)
        return read_result(answer, self._limits)

    async def abandon(self, call: ToolCall) -> None:
        """A call under way was cancelled at the server when its task was; nothing is held between calls."""

    def _native(self, name: str) -> str:
        native = self._life.catalog.natives.get(name)
        if native is None:
            raise Refused.because("unknown_tool", f"{self._id} has no tool {name} now")
        return native

    async def _begin_again(self) -> None:
        async with self._one_at_a_time:
            loss = self._life.loss
            if loss is None:
                return
            if self._is_closed:
                raise PeerUnreachable(self._id, loss.message)
            now = self._clock.monotonic()
            if self._revived_at is not None and now - self._revived_at < self._limits.restart_seconds:
                raise PeerUnreachable(self._id, f"{loss.message}, soon after it was started again")
            self._revived_at = now
            await self._life.close()
            life = self._revive()
            await life.start()
            self._life = life
            if self._is_closed:  # meanwhile
                await life.close()
