"""A hub's bindings as conformance drives them: HTTP with server-sent events, stdio, and no transport at all.

Each puts what its binding has in another form into envelopes and control frames. What a route asks without a request
envelope is asked under the host's id, and the id its answer was minted for is put back; a replay is a subscription with
a cursor. A binding that carries answers and events on different connections has no order between them: while a request
is under way its events wait behind its answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, Generic, TypeVar

import anyio
import httpx2
from anyio.abc import TaskGroup

from sayso.control.conformance.child import ChildPort
from sayso.control.conformance.port import Binding, Port
from sayso.control.hub.bindings.stdio_lines import OPS
from sayso.control.hub.hub import Hub
from sayso.control.hub.machine import Cursor, Deliver, End, Ending
from sayso.control.hub.serving import serve_request
from sayso.control.hub.session import RESOLVES, SUBMITS
from sayso.control.protocol.codes import protocol_error
from sayso.control.protocol.envelope import Envelope, convert_envelope, write_envelope
from sayso.control.protocol.signals import OVERFLOW, REPLAY_GAP, TERMINALS
from sayso.core import strictjson
from sayso.core.refusal import Misuse, PeerRefused, PeerUnreachable, Refusal, Refused
from sayso.net.child import Child, Program, spawn
from sayso.net.eventstream import read_events

__all__ = ("HttpHub", "LocalHub", "StdioHub")

Value = Mapping[str, Any]
T = TypeVar("T")
_ASKED = ("capabilities.request", "session.state.request", "models.request", "action.tools.list.request")
_ROUTES = {
    **dict.fromkeys(SUBMITS, "submit"),
    **dict.fromkeys(RESOLVES, "resolve"),
    "run.cancel.request": "cancel",
    "session.model.switch.request": "model",
}
_REQUESTS = frozenset((*_ASKED, *_ROUTES, "session.open.request"))


class _Mailbox(Generic[T]):
    """What was put in, in order. One taker; nobody has to close it."""

    def __init__(self) -> None:
        self._kept: deque[T] = deque()
        self._more = anyio.Event()

    def put(self, value: T) -> None:
        """Never waits."""
        self._kept.append(value)
        more, self._more = self._more, anyio.Event()
        more.set()

    async def take(self) -> T:
        """The next one, as soon as there is one."""
        while not self._kept:
            await self._more.wait()
        return self._kept.popleft()


class HubPort(ABC):
    """What the three share: requests run beside one another, and a run's events are subscribed to as it is admitted."""

    def __init__(self, binding: Binding, adapter: str, tasks: TaskGroup) -> None:
        self.binding = binding
        self._adapter = adapter
        self._tasks = tasks
        self._lines: _Mailbox[bytes | None] = _Mailbox()
        self._asking = 0
        self._held: list[bytes] = []

    @abstractmethod
    async def ask(self, request: Value) -> Value:
        """One request's answer, as an envelope."""

    @abstractmethod
    def subscribe(self, session_id: str, run_id: str, after: int) -> AsyncGenerator[Value]:
        """A run's events; first a control frame without its id, which says how the cursor was taken."""

    async def send(self, line: bytes) -> None:
        value: Value = strictjson.parse(line)  # type: ignore[assignment]
        if "control" in value:
            self._tasks.start_soon(self._replay, value)
            return
        self._asking += 1
        self._tasks.start_soon(self._answer, value)

    async def receive(self) -> bytes | None:
        return await self._lines.take()

    def hang_up(self) -> None:
        self._lines.put(None)

    def terminate(self) -> None:
        raise Misuse("this binding has no process")

    async def exit_code(self) -> int | None:
        return None

    @property
    def last_words(self) -> str:
        return ""

    async def _answer(self, request: Value) -> None:
        try:
            answer = await self.ask(request)
        finally:
            self._asking -= 1
        if request["type"] in _ASKED:
            answer = {**answer, "in_reply_to": request["id"]}
        self._give(answer)
        if not self._asking:
            held, self._held = self._held, []
            for line in held:
                self._lines.put(line)
        for run_id in _admitted(request, answer):
            self._tasks.start_soon(self._read, str(answer["session_id"]), run_id)

    async def _read(self, session_id: str, run_id: str) -> None:
        async with aclosing(self.subscribe(session_id, run_id, 0)) as lines:
            async for value in lines:
                if "protocol" in value:
                    if value["run_id"] != run_id:  # a stream goes on into other runs, which have one of their own
                        continue
                    self._tell(value)
                    if value["type"] in TERMINALS:
                        return
                elif value["control"] != "replay.accepted":
                    self._give(
                        {
                            "control": "stream.lost",
                            "run_id": run_id,
                            "after": 0,
                            "code": "stream_failed",
                            "message": str(value),
                        }
                    )

    async def _replay(self, frame: Value) -> None:
        async with aclosing(self.subscribe(frame["session_id"], frame["run_id"], frame["after"])) as lines:
            async for value in lines:
                self._give(value if "protocol" in value else {**value, "id": frame["id"]})

    def _tell(self, event: Value) -> None:
        if self._asking:
            self._held.append(strictjson.encode(event))
        else:
            self._give(event)

    def _give(self, value: Value) -> None:
        self._lines.put(strictjson.encode(value))


def _admitted(request: Value, answer: Value) -> list[str]:
    """The runs an answer says were begun."""
    payload = answer["payload"]
    if request["type"] in SUBMITS and payload.get("admission") in ("started", "queued"):
        return [payload["run_id"]]
    if request["type"] == "session.open.request" and "message" in request["payload"]:
        return [run["run_id"] for run in payload.get("active_runs", ())]
    return []


# --- no transport ----------------------------------------------------------------------------------------------------


class LocalHub:
    """A hub in this process, entered by the caller."""

    binding = Binding(name="hub in process", requests=_REQUESTS, has_controls=False, has_process=False, has_close=True)

    def __init__(self, hub: Hub, adapter: str) -> None:
        self._hub = hub
        self._adapter = adapter

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Port]:
        async with anyio.create_task_group() as tasks:
            yield _LocalPort(self._hub, self.binding, self._adapter, tasks)
            tasks.cancel_scope.cancel()


class _LocalPort(HubPort):
    def __init__(self, hub: Hub, binding: Binding, adapter: str, tasks: TaskGroup) -> None:
        super().__init__(binding, adapter, tasks)
        self._hub = hub

    async def ask(self, request: Value) -> Value:
        try:
            envelope: Envelope[Any] = convert_envelope(request)
            if envelope.type == "capabilities.request":
                response = await self._hub.capabilities(self._adapter)
            elif envelope.type == "session.open.request":
                response = await self._hub.open(self._adapter, envelope)
            else:
                response = await serve_request(self._hub, envelope)
                self._hub.session(str(envelope.session_id)).published(envelope.id)
        except Refused as refused:
            return _refusal(request, refused.refusal)
        return _value(write_envelope(response))

    async def subscribe(self, session_id: str, run_id: str, after: int) -> AsyncGenerator[Value]:
        try:
            session = self._hub.session(session_id)
            reader = session.subscribe(Cursor(after, run_id))
        except Refused as refused:
            yield {"control": "replay.error", "code": refused.refusal.code, "message": refused.refusal.message}
            return
        is_first = True
        async with aclosing(session.read(reader)) as effects:
            async for effect in effects:
                if isinstance(effect, End) and effect.why is Ending.GAP and effect.bounds is not None:
                    yield _gap(after, *effect.bounds)
                    return
                if is_first:
                    is_first = False
                    yield {"control": "replay.accepted", "run_id": run_id, "after": after}
                if isinstance(effect, Deliver):
                    for entry in effect.entries:
                        yield _value(write_envelope(entry.envelope))

    async def close_session(self, session_id: str) -> None:
        try:
            await self._hub.close(session_id)
        except Refused as refused:
            raise PeerRefused("the hub", refused.refusal) from None


def _refusal(request: Value, refusal: Refusal) -> Value:
    head = {name: request[name] for name in ("protocol", "version", "profile")}
    error = _value(strictjson.encode(protocol_error(refusal)))
    return {
        **head,
        "type": "error.response",
        "id": f"no-{request['id']}",
        "in_reply_to": request["id"],
        "payload": {"error": error},
    }


def _gap(after: int, oldest: int, latest: int) -> Value:
    bounds = {"requested_after": after, "oldest_available": oldest, "latest_available": latest}
    return {"control": "replay.gap", **bounds}


def _value(data: bytes) -> Value:
    return strictjson.parse(data)  # type: ignore[return-value]


# --- HTTP ------------------------------------------------------------------------------------------------------------


class HttpHub:
    """A hub that listens at `url`."""

    binding = Binding(
        name="hub over HTTP",
        requests=_REQUESTS,
        unpinned=frozenset(_ASKED),
        has_controls=False,
        has_process=False,
        has_close=True,
    )

    def __init__(self, url: str, adapter: str) -> None:
        self._url = url
        self._adapter = adapter

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Port]:
        async with (
            httpx2.AsyncClient(base_url=self._url, trust_env=False, timeout=60.0) as http,
            anyio.create_task_group() as tasks,
        ):
            yield _HttpPort(http, self.binding, self._adapter, tasks)
            tasks.cancel_scope.cancel()


class _HttpPort(HubPort):
    def __init__(self, http: httpx2.AsyncClient, binding: Binding, adapter: str, tasks: TaskGroup) -> None:
        super().__init__(binding, adapter, tasks)
        self._http = http

    async def ask(self, request: Value) -> Value:
        type_, payload = request["type"], request["payload"]
        if type_ in _ASKED:
            what = {"capabilities.request": f"/adapters/{self._adapter}/capabilities"}.get(type_)
            what = what or f"/sessions/{payload['session_id']}/{_LISTS[type_]}"
            params = {"allow_degraded": list(payload.get("allow_degraded_features", ()))}
            return _value((await self._http.get(what, params=params)).content)
        path = f"/adapters/{self._adapter}/sessions"
        if type_ != "session.open.request":
            path = f"/sessions/{request['session_id']}/{_ROUTES[type_]}"
        body = strictjson.encode(request)
        return _value((await self._http.post(path, content=body, headers={"content-type": "application/json"})).content)

    async def subscribe(self, session_id: str, run_id: str, after: int) -> AsyncGenerator[Value]:
        path, params = f"/sessions/{session_id}/events", {"run_id": run_id, "after": str(after)}
        async with self._http.stream("GET", path, params=params) as response:
            if response.status_code != 200:
                error = _value(await response.aread())["payload"]["error"]
                yield {"control": "replay.error", "code": error["code"], "message": error["message"]}
                return
            is_first = True
            async for event in read_events(response.aiter_raw()):
                value = _value(event.data) if event.data else {}
                if event.event == REPLAY_GAP:
                    yield _gap(after, value["oldest_available"], value["latest_available"])
                    return
                if event.event == OVERFLOW:
                    yield {
                        "control": "stream.lost",
                        "run_id": run_id,
                        "after": value["last_sequence"],
                        "code": "overflow",
                    }
                    return
                if is_first:
                    is_first = False
                    yield {"control": "replay.accepted", "run_id": run_id, "after": after}
                if event.id:
                    yield value

    async def close_session(self, session_id: str) -> None:
        response = await self._http.post(f"/sessions/{session_id}/close")
        if response.status_code != 204:
            error = _value(response.content)["payload"]["error"]
            raise PeerRefused("the hub", Refusal(code=error["code"], message=error["message"]))


_LISTS = {"session.state.request": "state", "models.request": "models", "action.tools.list.request": "tools"}


# --- stdio -----------------------------------------------------------------------------------------------------------


class StdioHub:
    """A hub over the pipes of a child process: `sayso serve --stdio`."""

    binding = Binding(
        name="hub over stdio", requests=_REQUESTS, unpinned=frozenset(_ASKED), has_controls=False, has_close=True
    )

    def __init__(self, program: Program, adapter: str) -> None:
        self._program = program
        self._adapter = adapter

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Port]:
        async with spawn(self._program) as child, anyio.create_task_group() as tasks:
            port = _StdioPort(child, self.binding, self._adapter, tasks)
            tasks.start_soon(port.pull)
            yield port
            tasks.cancel_scope.cancel()


_OPS = {
    "capabilities.request": "capabilities",
    "session.open.request": "open",
    "session.model.switch.request": "settings",
    **_LISTS,
    **{type_: route for type_, route in _ROUTES.items() if route != "model"},
}
_OVER: Value = {"ok": False, "error": {"code": "gone", "message": "the hub ended"}, "event": "oap-session-closed"}
_SIGNALS = {"oap-overflow", "oap-session-closed", "oap-frame-limit", "oap-stream-failed"}


class _StdioPort(HubPort):
    def __init__(self, child: Child, binding: Binding, adapter: str, tasks: TaskGroup) -> None:
        super().__init__(binding, adapter, tasks)
        self._child = child
        self._process = ChildPort(child, binding)
        self._number = 0
        self._answers: dict[int, _Mailbox[Value]] = {}

    async def send(self, line: bytes) -> None:
        try:
            value = strictjson.parse(line)
        except Refused:
            await self._child.write_line(line)
            return
        if isinstance(value, Mapping) and "protocol" in value and "id" not in value:
            await self._child.write_line(line)
            return
        await super().send(line)

    async def pull(self) -> None:
        """Takes the hub's lines, and gives each to whoever asked under its id."""
        async for line in self._child.lines():
            value = _value(line)
            waiting = self._answers.get(value["id"])
            if waiting is not None:
                waiting.put(value)
        for waiting in self._answers.values():
            waiting.put(_OVER)
        self._lines.put(None)

    async def ask(self, request: Value) -> Value:
        op = _OPS[request["type"]]
        members: dict[str, Any] = {}
        if "adapter" in OPS[op].takes:
            members["adapter"] = self._adapter
        if "session_id" in OPS[op].takes:
            members["session_id"] = request["session_id"]
        if "request" in OPS[op].takes:
            members["request"] = request
        allowed = request["payload"].get("allow_degraded_features")
        if allowed and "allow_degraded_features" in OPS[op].takes:
            members["allow_degraded_features"] = allowed
        answer = await self._op(op, members)
        if answer["ok"]:
            return answer["result"]  # type: ignore[no-any-return]
        head = {name: request[name] for name in ("protocol", "version", "profile")}
        error = {"in_reply_to": request["id"], "payload": {"error": answer["error"]}}
        return {**head, "type": "error.response", "id": f"no-{request['id']}", **error}

    async def subscribe(self, session_id: str, run_id: str, after: int) -> AsyncGenerator[Value]:
        number, lines = await self._begin("events", {"session_id": session_id, "run_id": run_id, "after": after})
        try:
            answer = await lines.take()
            if not answer["ok"]:
                error = answer["error"]
                yield {"control": "replay.error", "code": error["code"], "message": error["message"]}
                return
            is_first = True
            while True:
                value = await lines.take()
                if value["event"] == "oap-replay-gap":
                    yield _gap(after, value["oldest_available"], value["latest_available"])
                    return
                if is_first:
                    is_first = False
                    yield {"control": "replay.accepted", "run_id": run_id, "after": after}
                if value["event"] == "envelope":
                    yield value["envelope"]
                elif value["event"] in _SIGNALS:
                    return
        finally:
            self._answers.pop(number, None)

    async def close_session(self, session_id: str) -> None:
        answer = await self._op("close", {"session_id": session_id})
        if not answer["ok"]:
            raise PeerRefused("the hub", Refusal(code=answer["error"]["code"], message=answer["error"]["message"]))

    async def _op(self, op: str, members: dict[str, Any]) -> Value:
        number, lines = await self._begin(op, members)
        try:
            return await lines.take()
        finally:
            self._answers.pop(number, None)

    async def _begin(self, op: str, members: dict[str, Any]) -> tuple[int, _Mailbox[Value]]:
        self._number += 1
        lines = self._answers[self._number] = _Mailbox[Value]()
        number = self._number
        try:
            await self._child.write_line(strictjson.encode({"id": number, "op": op, **members}))
        except PeerUnreachable:
            lines.put(_OVER)
        return number, lines

    def hang_up(self) -> None:
        self._child.close_input()

    def terminate(self) -> None:
        self._process.terminate()

    async def exit_code(self) -> int | None:
        return await self._process.exit_code()

    @property
    def last_words(self) -> str:
        return self._process.last_words
