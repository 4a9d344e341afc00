"""One life of a server: started, greeted, listed, called, lost once.

Everything that must be entered and left in one task lives in one task of its own, so that a source may be opened in one
task and closed in another. What a caller waits for is bounded: by the start's seconds, by the call's, and by the loss
of the connection, which settles every request that waits.

The handshake is the one every server knows (2025-11-25 and before); a server that says it knows none of these is asked
by the newer discovery. We offer it nothing: it can ask for no sampling, no elicitation and no roots, its progress and
log messages are not listened to.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

import anyio
import structlog
from mcp.client.session import ClientSession, IncomingMessage
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    ListToolsRequest,
    ListToolsResult,
    PaginatedRequestParams,
    ToolListChangedNotification,
)
from pydantic import ValidationError

from sayso import __version__
from sayso.control.mcp_sources.catalog import Catalog, read_catalog
from sayso.control.mcp_sources.limits import Limits
from sayso.control.mcp_sources.messages import UNANSWERED, Transport
from sayso.core import strictjson
from sayso.core.excerpt import both_ends
from sayso.core.refusal import Misuse, PeerRefused, PeerUnreachable, Refusal, Refused
from sayso.net.unbroken import unbroken

__all__ = ("Connection",)

_SAID_CHARS = 2000
_ELDER = frozenset({UNSUPPORTED_PROTOCOL_VERSION, METHOD_NOT_FOUND})
_FAILURES = (MCPError, ValidationError, RuntimeError)

_log = structlog.get_logger(__name__)

# The package's own log lines quote messages, and without a handler Python prints them on stderr.
for _name in ("client", "mcp"):
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False


class Connection:
    """A server that was started for one source. `catalog` is what it offers now, `loss` why it is gone once it is."""

    def __init__(self, source_id: str, transport: Transport, limits: Limits, *, trusts_hints: bool) -> None:
        self.catalog = Catalog()
        self.loss: Refusal | None = None
        self._source_id = source_id
        self._transport = transport
        self._limits = limits
        self._trusts_hints = trusts_hints
        self._session: ClientSession | None = None
        self._changed, self._renewed, self._gone = anyio.Event(), anyio.Event(), anyio.Event()
        self._beginning = anyio.CancelScope()
        self._life: asyncio.Future[None] | None = None

    async def start(self) -> None:
        """Starts it and reads its first list. Refused `open_failed`; nothing of it is left then."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._life = asyncio.ensure_future(self._live(ready))
        try:
            await asyncio.shield(ready)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Ends the server within its patience; calling it again changes nothing."""
        self._lose(Refusal(code="open_failed", message="the connection was closed"))
        if self._life is not None and not self._life.done():
            await unbroken(asyncio.ensure_future(_ended(self._life)))

    async def renewed(self) -> None:
        """Waits until the list has been read again."""
        await self._renewed.wait()

    async def call(self, tool: str, arguments: Mapping[str, object]) -> Mapping[str, object]:
        """The server's answer, as plain JSON. PeerRefused: it answered with an error, or with what is no result.
        PeerUnreachable: no answer in time, or none any more; what the call did is then not known.
        """
        if len(strictjson.encode(arguments)) > self._limits.message_bytes // 2:
            raise Refused.because("invalid_arguments", "the arguments are larger than a message to a server may be")
        session = self._session
        if session is None or self.loss is not None:
            raise self._unreachable()
        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(arguments)))
        seconds = self._limits.call_seconds
        try:
            with anyio.fail_after(seconds):
                answer = await session.send_request(request, CallToolResult)
        except TimeoutError:
            why = f"no answer within {seconds:g} s; the call was cancelled, what it did is not known"
            raise PeerUnreachable(self._source_id, why) from None
        except MCPError as error:
            raise self._failure(error) from None
        except Misuse:
            raise
        except (ValidationError, RuntimeError):
            refusal = Refusal(code="protocol_violation", message="Its answer is no result of a tool")
            raise PeerRefused(self._source_id, refusal) from None
        return answer.model_dump(by_alias=True, mode="json", exclude_none=True)

    def _failure(self, error: MCPError) -> PeerRefused | PeerUnreachable:
        if self.loss is not None and error.code == CONNECTION_CLOSED:
            return self._unreachable()
        if error.data is UNANSWERED:
            return PeerUnreachable(self._source_id, error.message)
        message = both_ends(error.message, _SAID_CHARS) or "It answered with an error"
        return PeerRefused(self._source_id, Refusal(code="tool_failed", message=message))

    def _unreachable(self) -> PeerUnreachable:
        return PeerUnreachable(self._source_id, self.loss.message if self.loss else "it is not started")

    # --- its life, in one task ---

    async def _live(self, ready: asyncio.Future[None]) -> None:
        try:
            async with self._transport(self._lose) as ends:
                us = Implementation(name="sayso", version=__version__)
                async with ClientSession(ends.read, ends.write, message_handler=self._hear, client_info=us) as session:
                    await self._serve(session, ready)
        except Refused as refused:  # the transport's: nothing was opened
            _fail(ready, refused)
        except Exception as failure:  # noqa: BLE001 - a server, or the package, that breaks ends its source alone
            _log.error("tool_source_broke", source=self._source_id, error=type(failure).__name__)
            _fail(ready, Refused.because("open_failed", "it broke off in an unexpected way"))
        finally:
            self._lose(Refusal(code="open_failed", message="the connection was closed"))

    async def _serve(self, session: ClientSession, ready: asyncio.Future[None]) -> None:
        try:
            with self._beginning:
                await self._begin(session)
            if self.loss is not None:
                raise self._not_opened("it was closed")
        except (Refused, Misuse) as failure:  # not through the task groups around us, which would wrap it
            _fail(ready, failure)
            return
        self._session = session
        ready.set_result(None)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._keep_up, session)
            await self._gone.wait()
            tasks.cancel_scope.cancel()

    async def _begin(self, session: ClientSession) -> None:
        """The handshake and the first list. Refused `open_failed`."""
        try:
            with anyio.fail_after(self._limits.start_seconds):
                await _greet(session)
                self.catalog = await self._list(session)
        except TimeoutError:
            raise self._not_opened(f"it was not ready within {self._limits.start_seconds:g} s") from None
        except MCPError as error:
            said = error.message if error.data is UNANSWERED else f"it said: {both_ends(error.message, 300)}"
            raise self._not_opened(said) from None
        except Misuse:
            raise
        except (ValidationError, RuntimeError):
            raise self._not_opened("its answer is not what the protocol says") from None

    def _not_opened(self, why: str) -> Refused:
        loss = self.loss
        if loss is None:
            return Refused.because("open_failed", why)
        return Refused.because("open_failed", loss.message, reason=loss.reason, details=loss.details)

    async def _list(self, session: ClientSession) -> Catalog:
        """All pages of its list."""
        tools: list[Mapping[str, object]] = []
        cursor: str | None = None
        size = 0
        for _ in range(self._limits.pages):
            params = PaginatedRequestParams(cursor=cursor) if cursor is not None else None
            page = await session.send_request(ListToolsRequest(params=params), ListToolsResult)
            tools += (each.model_dump(by_alias=True, mode="json", exclude_none=True) for each in page.tools)
            size += sum(len(strictjson.encode(each)) for each in tools[len(tools) - len(page.tools) :])
            if size > self._limits.message_bytes:
                raise Refused.because("open_failed", "its list of tools is too large", reason="list_too_large")
            cursor = page.next_cursor
            if cursor is None or len(tools) > self._limits.tools:
                return read_catalog(self._source_id, tools, self._limits, trusts_hints=self._trusts_hints)
        raise Refused.because("open_failed", "its list of tools does not end", reason="too_many_pages")

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._changed.set()

    async def _keep_up(self, session: ClientSession) -> None:
        """Reads the list again when the server says that it changed, but not more often than `calm_seconds` allow."""
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            await self._renew(session)
            await anyio.sleep(self._limits.calm_seconds)

    async def _renew(self, session: ClientSession) -> None:
        """A list that cannot be read changes nothing: what was offered stays."""
        try:
            with anyio.fail_after(self._limits.start_seconds):
                self.catalog = await self._list(session)
        except Misuse:
            raise
        except (TimeoutError, Refused, *_FAILURES) as failure:
            _log.warning("tool_source_not_renewed", source=self._source_id, error=type(failure).__name__)
        renewed, self._renewed = self._renewed, anyio.Event()
        renewed.set()

    def _lose(self, why: Refusal) -> None:
        if self.loss is None:
            self.loss = why
        self._beginning.cancel()
        self._gone.set()


def _fail(ready: asyncio.Future[None], failure: Refused | Misuse) -> None:
    if not ready.done():
        ready.set_exception(failure)


async def _greet(session: ClientSession) -> None:
    try:
        await session.initialize()
    except MCPError as error:
        if error.code not in _ELDER:
            raise
        await session.discover()


async def _ended(life: asyncio.Future[None]) -> None:
    await asyncio.wait((life,))
