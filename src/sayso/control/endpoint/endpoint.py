"""One adapter as an endpoint: raw envelopes, one a line, over our own pipes (OAP-126..129).

Requests are answered under their ids in any order, except that what names a session waits until that session's open has
been answered. Events come unasked. There is no close: the pipe is the life of every session, and a run that is under
way when the host hangs up ends with it, without a terminal that nobody would read. Whoever serves sweeps the hub
afterwards.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import msgspec
import structlog
from anyio.abc import TaskGroup

from sayso.control.adapters.contract import MeetsParticipant
from sayso.control.adapters.gates import verify_feature
from sayso.control.endpoint.connection import USUAL, Connection, EndpointBounds
from sayso.control.endpoint.lines import ControlLine, EnvelopeLine, ReplayError, read_replay
from sayso.control.endpoint.logins import Logins
from sayso.control.endpoint.providers import ProviderLines
from sayso.control.endpoint.stream import SessionStream
from sayso.control.hub.answers import answer, refuse_query
from sayso.control.hub.bindings.stdio import StdioEnd
from sayso.control.hub.hub import Hub
from sayso.control.hub.serving import serve_request
from sayso.control.protocol.codes import CODES, protocol_error
from sayso.control.protocol.envelope import (
    AGENT_PROFILE,
    PROVIDER_PROFILE,
    VERSION,
    Envelope,
    convert_envelope,
    write_envelope,
)
from sayso.control.protocol.payloads.action import ToolsListResponse
from sayso.control.protocol.payloads.auth import AuthLoginStartResponse
from sayso.control.protocol.payloads.capabilities import InitializeRequest, InitializeResponse
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Wire
from sayso.control.protocol.payloads.session import MessageSubmitResponse
from sayso.core.ids import Ids
from sayso.core.refusal import Misuse, Refusal, Refused
from sayso.core.strictjson import encode
from sayso.net.ownpipes import LineInput, LineOutput

__all__ = ("EndpointBounds", "EndpointOverStdio")

_log = structlog.get_logger(__name__)
Serve = Callable[[Envelope[Any]], Awaitable[Envelope[Wire]]]


class EndpointOverStdio(Connection):
    """One connection. `serve` runs it to its end; the hub, whose adapter `name` this is, is entered by the caller.

    With `providers` the provider profile is served on the same pipe: each line goes to the half its `profile` names,
    and the halves share nothing but the pipe and its end (OAP-137).
    """

    def __init__(
        self,
        hub: Hub,
        name: str,
        lines: LineInput,
        output: LineOutput,
        *,
        ids: Ids,
        bounds: EndpointBounds = USUAL,
        providers: ProviderLines | None = None,
    ) -> None:
        super().__init__(lines, output, bounds)
        self._hub = hub
        self._name = name
        self._ids = ids
        self._providers = providers
        self._streams: dict[str, SessionStream] = {}
        self._opening: dict[str, anyio.Event] = {}
        self._logins = Logins(hub, name, ids, self._told)
        self._serves: Mapping[str, Serve] = {
            "protocol.initialize.request": self._initialize,
            "capabilities.request": self._capabilities,
            "session.open.request": self._open,
            "action.tools.list.request": self._list_tools,
            "auth.providers.request": self._logins.providers,
            "auth.login.start.request": self._logins.start,
            "auth.login.cancel.request": self._logins.cancel,
        }

    async def _serve(self, line: EnvelopeLine | ControlLine, tasks: TaskGroup) -> None:
        if isinstance(line, ControlLine):
            await self._control(line, tasks)
        elif self._providers is not None and line.value.get("profile") == PROVIDER_PROFILE:
            await self._providers.serve(line, tasks)
        elif self._providers is not None and line.value.get("profile") != AGENT_PROFILE:
            # It belongs to neither half, and only this one has a word for it (upstream decision 0027).
            refusal = Refusal(code="invalid_request", message="no such profile", details={"feature": "profile"})
            await self._output.write_line(write_envelope(refuse_query(refusal, line.id, self._ids)))
        else:
            await self._answer(line)

    # --- requests ---

    async def _answer(self, line: EnvelopeLine) -> None:
        session_id = line.value.get("session_id")
        scope: Maybe[str] = session_id if isinstance(session_id, str) and session_id else UNSET
        try:
            request = convert_envelope(line.value)
            response = await self._serve_request(request)
        except Refused as refused:
            response = refuse_query(refused.refusal, line.id, self._ids, session_id=scope)
        except Misuse:
            raise
        except Exception as error:  # noqa: BLE001 - whatever broke in here, the host gets a bare internal error
            _log.error("endpoint_request_broke", error=type(error).__name__)
            refusal = Refusal(code="internal", message=CODES["internal"].meaning)
            response = refuse_query(refusal, line.id, self._ids, session_id=scope)
        data = write_envelope(_as_endpoint(response))
        if len(data) > self._bounds.line:
            refusal = Refusal(code="response_too_large", message=CODES["response_too_large"].meaning)
            data = write_envelope(refuse_query(refusal, line.id, self._ids, session_id=scope))
        await self._output.write_line(data)
        self._after(line.id, response)

    async def _serve_request(self, request: Envelope[Any]) -> Envelope[Wire]:
        serve = self._serves.get(request.type)
        if serve is not None:
            return await serve(request)
        if not request.type.endswith(".request"):
            raise Refused.because("type_mismatch", "an endpoint takes requests", place="$.type")
        if (opening := self._opening.get(request.session_id or "")) is not None:
            await opening.wait()
        return await serve_request(self._hub, request)

    async def _initialize(self, request: Envelope[InitializeRequest]) -> Envelope[Wire]:
        asked = request.payload
        if VERSION not in asked.protocol_versions or AGENT_PROFILE not in asked.profiles:
            raise Refused.because("unsupported_version", f"this endpoint speaks version {VERSION} of {AGENT_PROFILE}")
        adapter = self._hub.adapter(self._name)
        if asked.participant is not UNSET and isinstance(adapter, MeetsParticipant):
            adapter.meet(asked.participant.id)
        found = await self._hub.probe(self._name)
        response = InitializeResponse(
            protocol_version=VERSION, profile=AGENT_PROFILE, endpoint=found.capabilities.endpoint
        )
        # A pin is ignored here, and not repeated: nothing is served under it yet.
        return answer(msgspec.structs.replace(request, capability_revision=UNSET), response, self._ids)

    async def _capabilities(self, request: Envelope[Any]) -> Envelope[Wire]:
        found = await self._hub.probe(self._name)
        # A pin is ignored here: this is how a host learns the revision.
        response = answer(request, found.capabilities, self._ids)
        return msgspec.structs.replace(response, capability_revision=found.revision)

    async def _open(self, request: Envelope[Any]) -> Envelope[Wire]:
        session_id = request.payload.session_id or None
        opening = anyio.Event()
        if session_id is not None and session_id not in self._opening:
            self._opening[session_id] = opening
        try:
            response = await self._hub.open(self._name, request)
            if response.type == "session.open.response" and self._tasks is not None:
                self._begin(str(response.session_id), self._tasks)
            return response
        finally:
            if session_id is not None and self._opening.get(session_id) is opening:
                del self._opening[session_id]
            opening.set()

    def _begin(self, session_id: str, tasks: TaskGroup) -> None:
        """A session's events follow the answer that opened it: whoever called has that answer in hand, and writes it
        before anything that is begun here gets its turn.
        """
        session = self._hub.session(session_id)
        session.listeners.append(self._told)
        stream = self._streams[session_id] = SessionStream(session, self._output.write_line, self._bounds.line)
        stream.start(tasks)

    def _told(self, envelope: Envelope[Wire]) -> None:
        """An event of a session or of a login: both are few, and in nobody's journal."""
        if self._tasks is not None:
            self._tasks.start_soon(self._output.write_line, write_envelope(envelope))

    async def _list_tools(self, request: Envelope[Any]) -> Envelope[Wire]:
        if request.payload.session_id is not UNSET:
            return await serve_request(self._hub, request)
        found = await self._hub.probe(self._name)
        verify_feature(request, found, "action.tools.list")
        listed = ToolsListResponse(tools=found.capabilities.tools or (), sources=found.capabilities.sources)
        return answer(request, listed, self._ids, found.revision)

    def _after(self, request_id: str, response: Envelope[Wire]) -> None:
        """What waits for an answer to be out: the events behind a steer's, and a login's."""
        if isinstance(response.payload, MessageSubmitResponse):
            self._hub.session(response.payload.session_id).published(request_id)
        if isinstance(response.payload, AuthLoginStartResponse) and self._tasks is not None:
            self._tasks.start_soon(self._logins.tell, response.payload.flow_id)

    # --- control frames ---

    async def _control(self, frame: ControlLine, tasks: TaskGroup) -> None:
        try:
            asked = read_replay(frame)
            if (opening := self._opening.get(asked.session_id)) is not None:
                await opening.wait()
            stream = self._streams.get(asked.session_id)
            if stream is None:
                raise Refused.because("unknown_session", CODES["unknown_session"].meaning)
            await stream.replay(asked, tasks)
        except Refused as refused:
            error = protocol_error(refused.refusal)
            answered = ReplayError(id=frame.id or UNSET, code=error.code, message=error.message[:300])
            await self._output.write_line(encode(answered))

    # --- the end ---

    async def _finish(self, end: StdioEnd) -> StdioEnd:
        """Streams get what is in flight; the provider half settles what it accepted."""
        self._hub.hang_up()
        with anyio.move_on_after(self._bounds.stage):
            for stream in tuple(self._streams.values()):
                await stream.over.wait()
        return end if self._providers is None else await self._providers.finish(end, self._stop)


def _as_endpoint(response: Envelope[Wire]) -> Envelope[Wire]:
    """A cancel that came too late has a name of its own here (OAP-014)."""
    payload = response.payload
    if not isinstance(payload, ErrorResponse) or payload.error.code != "run_terminal":
        return response
    error = msgspec.structs.replace(payload.error, code="run_already_terminal")
    return msgspec.structs.replace(response, payload=ErrorResponse(error=error))
