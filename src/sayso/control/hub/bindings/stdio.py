"""The hub over our own pipes, for a host that started us: requests in, answers and subscriptions out (OAP-115..125).

Spawning is the authorization. Ops run at the same time, each in a task of its own, and answer in any order; one writer
makes every line whole. A pipe gives no back pressure, so what a socket would bound by refusing is bounded here: past a
bound the answer is `busy`, decided before the op is looked at, and the same request may be sent again. An unreadable
line ends everything, with one reason. Whoever serves sweeps the sessions afterwards, on every path.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any

import anyio
import anyio.lowlevel
import structlog
from anyio.abc import TaskGroup

from sayso.control.hub.bindings.stdio_lines import (
    StdioRequest,
    read_request,
    refusal_line,
    result_line,
    verify_members,
)
from sayso.control.hub.bindings.stdio_stream import StdioStream
from sayso.control.hub.hub import Hub
from sayso.control.hub.machine import Cursor
from sayso.control.hub.session import RESOLVES, SETTINGS, SUBMITS, HubSession
from sayso.control.protocol.codes import CODES, protocol_error
from sayso.control.protocol.envelope import Envelope, convert_envelope, write_envelope
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.refusal import Misuse, Refusal, Refused
from sayso.core.strictjson import encode
from sayso.net.ownpipes import LineInput, LineOutput

__all__ = ("Bounds", "HubOverStdio", "StdioEnd", "StdioEnding")

_REQUEST_CAP = 16 * 1024 * 1024
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What one connection may hold at once; sizes in bytes, `stage` in seconds for each step of the end."""

    ops: int = 16
    request_bytes: int = _REQUEST_CAP
    subscriptions: int = 64
    queued_lines: int = 256
    frame: int = _REQUEST_CAP + 2 * 1024 * 1024
    stage: float = 5.0

    def __post_init__(self) -> None:
        if self.frame < 256:
            raise Misuse("a frame of less than 256 bytes does not hold every ending")


class StdioEnding(Enum):
    """How a connection ended; all but the first are failures."""

    CLEAN = "the host hung up"
    MALFORMED = "a malformed line"
    OUTPUT_LOST = "the output could not be written"
    STALLED = "shutdown stalled"
    DROPPED = "requests were dropped unserved"


@dataclass(frozen=True, slots=True)
class StdioEnd:
    """The ending, and one bounded line about it for stderr."""

    ending: StdioEnding
    message: str = ""

    @property
    def is_clean(self) -> bool:
        """Whether the session ended as it should."""
        return self.ending is StdioEnding.CLEAN


class HubOverStdio:
    """One connection. `serve` runs it to its end; the hub is entered and swept by the caller."""

    def __init__(self, hub: Hub, lines: LineInput, output: LineOutput, bounds: Bounds = Bounds()) -> None:
        self._hub = hub
        self._lines = lines
        self._output = output
        self._bounds = bounds
        self._in_flight: dict[int, int] = {}
        self._count = 0
        self._read = 0
        self._changed = anyio.Event()
        self._subscriptions = 0
        self._is_ending = False
        self._ops: Mapping[str, Callable[[StdioRequest], Awaitable[bytes]]] = {
            "adapters": self._adapters,
            "capabilities": self._capabilities,
            "sessions": self._sessions,
            "history": self._history,
            "state": self._state,
            "models": self._models,
            "tools": self._tools,
            "submit": self._submit,
            "resolve": self._resolve,
            "cancel": self._cancel,
            "settings": self._settings,
            "close": self._close,
        }

    async def serve(self, stop: anyio.Event) -> StdioEnd:
        """Until the host hangs up, `stop` is set, a line cannot be read or the output is gone; then settles."""
        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as reading:
                for each in (stop, self._output.broken):
                    tasks.start_soon(_cancel_when, each, reading)
                tasks.start_soon(self._cancel_when_stuck, reading)
                end = await self._serve_lines(tasks)
            if reading.cancelled_caught:
                end = StdioEnd(StdioEnding.CLEAN)
                if self._lines.has_unread and not self._output.broken.is_set():
                    end = StdioEnd(StdioEnding.DROPPED, "stopped with requests unserved; they may be sent again")
            end = await self._settle(end)
            tasks.cancel_scope.cancel()
        return end

    async def _cancel_when_stuck(self, reading: anyio.CancelScope) -> None:
        """A host that hung up and takes nothing more is not waited for, however much it had sent before."""
        await self._lines.ended.wait()
        written = -1
        while written != self._output.written:
            written = self._output.written
            await anyio.sleep(self._bounds.stage)
        reading.cancel()

    async def _serve_lines(self, tasks: TaskGroup) -> StdioEnd:
        while True:
            self._read += 1
            try:
                line = await self._lines.read_line()
                if line is None:
                    if self._lines.unfinished:
                        raise Refused.because("malformed_line", "the last line has no end")
                    return StdioEnd(StdioEnding.CLEAN)
                request, given = read_request(line)
            except Refused as refused:
                return StdioEnd(StdioEnding.MALFORMED, f"line {self._read}: {refused.refusal.message}")
            busy = self._why_busy(len(line))
            if busy is not None:
                await self._write(refusal_line(request.id, busy, self._bounds.frame))
            else:
                self._count += 1
                self._in_flight[self._count] = len(line)
                tasks.start_soon(self._serve_one, self._count, request, given, tasks)
            # Lines that lie ready are read without a pause: what was admitted gets its turn first.
            await anyio.lowlevel.checkpoint()

    def _why_busy(self, size: int) -> Any:
        bounds, held = self._bounds, sum(self._in_flight.values())
        if len(self._in_flight) >= bounds.ops:
            return _busy(f"{bounds.ops} requests are being served")
        # One that is over the bound by itself is let in, to be told so.
        if self._in_flight and held + size > bounds.request_bytes:
            return _busy(f"{bounds.request_bytes} bytes of requests are being served")
        return None

    # --- one request ---

    async def _serve_one(self, number: int, request: StdioRequest, given: frozenset[str], tasks: TaskGroup) -> None:
        reader: tuple[HubSession, str] | None = None
        try:
            verify_members(request, given)
            _verify_size(request, self._in_flight[number])
            if request.op == "events":
                reader = self._subscribe(request)
                result = b"null"
            elif request.op == "open":
                result, reader = await self._open(request)
            else:
                result = await self._ops[request.op](request)
            line = result_line(request.id, result, self._bounds.frame)
        except Refused as refused:
            line = refusal_line(request.id, protocol_error(refused.refusal), self._bounds.frame)
        except Misuse:
            raise
        except Exception as error:  # noqa: BLE001 - whatever broke in here, the host gets a bare internal error
            _log.error("hub_op_broke", op=request.op, error=type(error).__name__)
            refusal = Refusal(code="internal", message=CODES["internal"].meaning)
            line = refusal_line(request.id, protocol_error(refusal), self._bounds.frame)
        await self._write(line)
        self._publish(request)
        del self._in_flight[number]
        self._tell_change()
        if reader is not None:
            tasks.start_soon(self._stream, request.id, *reader)

    def _publish(self, request: StdioRequest) -> None:
        """The answer to a submit is out: what a steer held back may follow it."""
        if request.op == "submit" and isinstance(request.request, Mapping):
            with suppress(Refused):
                self._session(request).published(str(request.request.get("id")))

    async def _adapters(self, request: StdioRequest) -> bytes:
        return encode({"adapters": await self._hub.adapters()})

    async def _sessions(self, request: StdioRequest) -> bytes:
        return encode({"sessions": await self._hub.sessions()})

    async def _history(self, request: StdioRequest) -> bytes:
        return encode(await self._hub.history(limit=request.limit, cursor=request.cursor))

    async def _capabilities(self, request: StdioRequest) -> bytes:
        return _answered(await self._hub.capabilities(str(request.adapter)))

    async def _state(self, request: StdioRequest) -> bytes:
        return _answered(await self._hub.state(str(request.session_id)))

    async def _tools(self, request: StdioRequest) -> bytes:
        allowed = request.allow_degraded_features or ()
        return _answered(await self._hub.tools(str(request.session_id), allow_degraded=allowed))

    async def _models(self, request: StdioRequest) -> bytes:
        allowed = request.allow_degraded_features or ()
        return _answered(await self._hub.models(str(request.session_id), allow_degraded=allowed))

    async def _open(self, request: StdioRequest) -> tuple[bytes, tuple[HubSession, str] | None]:
        """The answer, and the subscription the open asked for: it begins behind the answer, under the open's id."""
        envelope = _envelope(request, "session.open.request")
        if envelope.payload.subscribe:
            self._verify_room()
        response = await self._hub.open(str(request.adapter), envelope)
        result = _answered(response)
        if not envelope.payload.subscribe:
            return result, None
        session = self._hub.session(str(response.session_id))
        reader = session.adopt()
        self._subscriptions += reader is not None
        return result, None if reader is None else (session, reader)

    async def _submit(self, request: StdioRequest) -> bytes:
        envelope = _envelope(request, *SUBMITS)
        return _answered(await self._session(request).submit(envelope))

    async def _resolve(self, request: StdioRequest) -> bytes:
        envelope = _envelope(request, *RESOLVES)
        return _answered(await self._session(request).resolve(envelope))

    async def _cancel(self, request: StdioRequest) -> bytes:
        return _answered(await self._session(request).cancel(_envelope(request, "run.cancel.request")))

    async def _settings(self, request: StdioRequest) -> bytes:
        envelope, session = _envelope(request, *SETTINGS), self._session(request)
        change = session.switch_model if envelope.type == SETTINGS[0] else session.attach_provider
        return _answered(await change(envelope))

    async def _close(self, request: StdioRequest) -> bytes:
        await self._hub.close(str(request.session_id))
        return b"null"

    def _session(self, request: StdioRequest) -> HubSession:
        return self._hub.session(str(request.session_id))

    # --- subscriptions ---

    def _subscribe(self, request: StdioRequest) -> tuple[HubSession, str]:
        session = self._session(request)
        cursor = _cursor(request)
        self._verify_room()
        reader = session.subscribe(cursor)
        self._subscriptions += 1
        return session, reader

    def _verify_room(self) -> None:
        if self._subscriptions >= self._bounds.subscriptions:
            raise Refused(_busy_refusal(f"{self._bounds.subscriptions} subscriptions are open, and one has to end"))

    async def _stream(self, request_id: int, session: HubSession, reader: str) -> None:
        stream = StdioStream(request_id, session.id, self._bounds.frame)
        try:
            async with aclosing(session.read(reader)) as effects:
                async for effect in effects:
                    for line in stream.lines(effect, is_ending=self._is_ending):
                        if not await self._write(line):
                            return
                    if stream.is_over:
                        return
        except Misuse:
            raise
        except Exception as error:  # noqa: BLE001 - this subscription ends and says so; the others go on
            _log.error("hub_stream_broke", error=type(error).__name__)
            await self._write(stream.failed())
        finally:
            self._subscriptions -= 1
            self._tell_change()

    async def _write(self, line: bytes) -> bool:
        return await self._output.write_line(line) if line else True

    def _tell_change(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    # --- the end ---

    async def _settle(self, end: StdioEnd) -> StdioEnd:
        """What was admitted is answered, streams get what is in flight, the output is emptied, each within its time."""
        self._is_ending = True
        stage = self._bounds.stage
        with anyio.move_on_after(stage):
            while self._in_flight:
                await self._changed.wait()
        if self._in_flight and end.is_clean and not self._output.broken.is_set():
            end = StdioEnd(StdioEnding.STALLED, f"{len(self._in_flight)} requests were not answered in {stage:g} s")
        self._hub.hang_up()
        with anyio.move_on_after(stage):
            while self._subscriptions:
                await self._changed.wait()
        is_written = await self._output.drain(stage)
        if not is_written and end.is_clean:
            end = StdioEnd(StdioEnding.OUTPUT_LOST, "the host takes no more output")
        return end


async def _cancel_when(event: Any, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


def _answered(envelope: Envelope[Wire]) -> bytes:
    """The envelope as a result; an `error.response` is the refusal it holds."""
    if isinstance(envelope.payload, ErrorResponse):
        error = envelope.payload.error
        raise Refused.because(error.code, error.message, details=error.details or {})
    return write_envelope(envelope)


def _envelope(request: StdioRequest, *types: str) -> Envelope[Any]:
    """Raises `Refused`: `schema_invalid`, `type_mismatch`."""
    envelope = convert_envelope(request.request)
    if envelope.type not in types:
        raise Refused.because("type_mismatch", f"this op takes {' or '.join(types)}", place="$.type")
    return envelope


def _verify_size(request: StdioRequest, size: int) -> None:
    if size > _REQUEST_CAP and request.request is not None and len(encode(request.request)) > _REQUEST_CAP:
        raise Refused.because("request_too_large", CODES["request_too_large"].meaning)


def _cursor(request: StdioRequest) -> Cursor | None:
    """Raises `Refused` `invalid_cursor`."""
    after = request.after
    if after is None:
        if request.run_id is not None:
            raise Refused.because("invalid_cursor", "a run is named only with a cursor")
        return None
    if not isinstance(after, int) or isinstance(after, bool) or after < 0:
        raise Refused.because("invalid_cursor", "a cursor is an unsigned sequence number")
    return Cursor(after, request.run_id)


def _busy(why: str) -> Any:
    return protocol_error(_busy_refusal(why))


def _busy_refusal(why: str) -> Refusal:
    return Refusal(code="busy", message=f"{why}: send this request again")
