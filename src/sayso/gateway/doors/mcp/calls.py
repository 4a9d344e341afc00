"""What each method does with a request: governance is asked, nothing is stored, and an outcome comes back.

The endpoint settles outcomes, one or a batch of them, in a single unit of work. Refusals that MCP has a place for
become the request's error here; those of the guard (limits, scopes, rates) end the whole crossing and are let through.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from sayso.core.instants import write_instant
from sayso.core.refusal import Refusal, Refused
from sayso.core.strictjson import JsonValue
from sayso.gateway.doors.mcp.codes import INVALID_PARAMS, INVALID_REQUEST, UNKNOWN_METHOD, UNKNOWN_TOOL
from sayso.gateway.doors.mcp.looks import COMPLETE, GET_PROMPT, READ_RESOURCE
from sayso.gateway.doors.mcp.offers import Offers
from sayso.gateway.doors.mcp.read.message import Fault, Request
from sayso.gateway.doors.mcp.read.params import (
    ARGUMENTS,
    Completion,
    Initialize,
    Page,
    PromptCall,
    ToolCall,
    Uri,
    read_params,
)
from sayso.gateway.doors.mcp.read.revisions import METHODS, SERVED, Era, agree, has
from sayso.gateway.doors.mcp.sessions import McpSession, Sessions
from sayso.gateway.doors.mcp.shown import Shown, is_own
from sayso.gateway.doors.mcp.write.listing import (
    FRESH_MS,
    completion_result,
    contents_result,
    page_of,
    prompt_of,
    prompt_result,
    resource_of,
    template_of,
)
from sayso.gateway.doors.mcp.write.tools import (
    PROPOSAL_URI,
    ContentWriter,
    Ticket,
    disclosed_result,
    error_result,
    ticket_result,
)
from sayso.gateway.gateway import Passage
from sayso.gateway.guard.rules.limits import check_payload
from sayso.gateway.surface import UNKNOWN_PROMPT, UNKNOWN_RESOURCE
from sayso.governance.acts import Act, ActClass
from sayso.governance.governor import Disclosed
from sayso.governance.proposal import Prepared
from sayso.store.unit import Unit

__all__ = ("Calls", "Context", "Outcome", "is_address")

_TOOL_ERRORS_SINCE = "2025-11-25"
"""From this revision on, arguments that do not fit are a tool's error; before, the request's."""
_ANSWERED = frozenset({INVALID_PARAMS, UNKNOWN_TOOL, UNKNOWN_PROMPT, UNKNOWN_RESOURCE})
"""Refusals that are the answer to one request; every other ends the crossing."""
_CALL = "tools/call"
"""Its disclosures look at the rate themselves, and its proposals cost little before they are settled."""
_URI = re.compile(r"[\x21-\x7e]+")
_ENDS = frozenset({"payload_limits", "missing_scope", "too_many_calls", "too_many_requests", "unavailable"})
"""Refusals of the guard: a tool never answers with one of them, since a denial is no result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a request was asked in."""

    era: Era
    version: str
    session: McpSession | None = None
    is_batch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a request came to: a result or a fault, and what is to be stored with it."""

    result: Mapping[str, object] = field(default_factory=dict)
    fault: Fault | None = None
    charges: int = 0
    disclosed: tuple[Disclosed, ...] = ()
    prepared: tuple[Prepared, ...] = ()
    effect: Callable[[Unit], None] | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()


Handler = Callable[[Passage, Context, Request], Awaitable[Outcome]]


class Calls:
    """The methods of one gateway's MCP door."""

    def __init__(
        self,
        *,
        offers: Offers,
        shown: Shown,
        sessions: Sessions,
        new_session: Callable[[], str],
        identity: Mapping[str, JsonValue],
        instructions: str,
        writers: Mapping[str, ContentWriter],
    ) -> None:
        self._offers = offers
        self._shown = shown
        self._sessions = sessions
        self._new_session = new_session
        self._identity = identity
        self._instructions = instructions
        self._writers = writers
        self._handlers: Mapping[str, Handler] = {
            "initialize": self._initialize,
            "ping": self._ping,
            "server/discover": self._discover,
            "tools/list": self._list_tools,
            _CALL: self._call_tool,
            "resources/list": self._list_resources,
            "resources/templates/list": self._list_templates,
            "resources/read": self._read,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._unsubscribe,
            "prompts/list": self._list_prompts,
            "prompts/get": self._get_prompt,
            "completion/complete": self._complete,
        }

    async def call(self, passage: Passage, context: Context, request: Request) -> Outcome:
        """Answers one request. Refused: what ends the whole crossing."""
        method = METHODS.get(request.method)
        handler = self._handlers.get(request.method)
        if method is None or handler is None or context.era not in method.eras:
            message = "There is no such method in this revision"
            return Outcome(fault=Fault(code=UNKNOWN_METHOD, message=message, id=request.id, place="$.method"))
        if method.charges and request.method != _CALL:
            passage.afford()
        try:
            outcome = await handler(passage, context, request)
        except Refused as no:
            if no.refusal.code not in _ANSWERED:
                raise
            return Outcome(fault=_fault(no.refusal, request))
        return outcome if outcome.fault else replace(outcome, charges=method.charges)

    # -- the handshake

    async def _initialize(self, passage: Passage, context: Context, request: Request) -> Outcome:
        if context.is_batch:
            message = "initialize opens a session and stands in no batch"
            return Outcome(fault=Fault(code=INVALID_REQUEST, message=message, id=request.id))
        version = agree(read_params(request.params, Initialize).protocol_version)
        session, agent = self._new_session(), passage.agent.id
        return Outcome(
            result={
                "protocolVersion": version,
                "capabilities": self._capabilities(),
                "serverInfo": self._identity,
                "instructions": self._instructions,
            },
            effect=lambda unit: self._sessions.open_in(unit, session, agent, version),
            headers=((b"mcp-session-id", session.encode()),),
        )

    async def _ping(self, _passage: Passage, _context: Context, _request: Request) -> Outcome:
        return Outcome()

    async def _discover(self, _passage: Passage, _context: Context, _request: Request) -> Outcome:
        result: dict[str, object] = {
            "supportedVersions": SERVED,
            "capabilities": self._capabilities(),
            "instructions": self._instructions,
            "ttlMs": FRESH_MS,
            "cacheScope": "private",
        }
        return Outcome(result=result)

    def _capabilities(self) -> Mapping[str, JsonValue]:
        return {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "completions": {}}

    # -- tools

    async def _list_tools(self, passage: Passage, context: Context, request: Request) -> Outcome:
        return _page("tools", self._offers.list(passage.agent, context.version), context, request)

    async def _call_tool(self, passage: Passage, context: Context, request: Request) -> Outcome:
        call = read_params(request.params, ToolCall)
        act = self._offers.find(call.name)
        try:
            if act.act_class is ActClass.DISCLOSURE:
                return await self._disclose(passage, context, act, call)
            return self._propose(passage, context, act, call)
        except Refused as no:
            code = no.refusal.code
            if code in _ENDS or (code == INVALID_PARAMS and not has(context.version, _TOOL_ERRORS_SINCE)):
                raise
            return Outcome(result=error_result({"refused": msgspec.to_builtins(no.refusal)}, context.version))

    async def _disclose(self, passage: Passage, context: Context, act: Act, call: ToolCall) -> Outcome:
        disclosed = await passage.disclose(act.name, call.arguments, place=ARGUMENTS)
        writer = self._writers.get(act.name)
        result = disclosed_result(disclosed.result, context.version, is_error=disclosed.is_error, writer=writer)
        return Outcome(result=result, disclosed=(disclosed,))

    def _propose(self, passage: Passage, context: Context, act: Act, call: ToolCall) -> Outcome:
        session = context.session.id if context.session else None
        prepared = passage.propose(act.name, call.arguments, place=ARGUMENTS, context=session)
        return Outcome(result=ticket_result(_ticket(prepared), context.version), prepared=(prepared,))

    # -- resources

    async def _list_resources(self, _passage: Passage, context: Context, request: Request) -> Outcome:
        return _page("resources", [resource_of(each) for each in self._shown.resources()], context, request)

    async def _list_templates(self, _passage: Passage, context: Context, request: Request) -> Outcome:
        entries = [template_of(each) for each in self._shown.templates()]
        return _page("resourceTemplates", entries, context, request)

    async def _read(self, passage: Passage, context: Context, request: Request) -> Outcome:
        uri = _uri(passage, request)
        # The constitution is everybody's, and its own proposals are the agent's: neither asks for the scope.
        looked = () if is_own(uri) else (passage.look(READ_RESOURCE, {"uri": uri}, place="$.params"),)
        contents = await self._shown.read(uri, passage.agent)
        return Outcome(result=contents_result(contents, context.era), disclosed=looked)

    async def _subscribe(self, passage: Passage, context: Context, request: Request) -> Outcome:
        uri, session, agent = _uri(passage, request), _session(context), passage.agent
        told = await self._shown.moves(uri, agent)
        return Outcome(effect=lambda unit: self._sessions.subscribe_in(unit, session, agent.id, uri, told))

    async def _unsubscribe(self, passage: Passage, context: Context, request: Request) -> Outcome:
        uri, session, agent = _uri(passage, request), _session(context), passage.agent.id
        return Outcome(effect=lambda unit: self._sessions.unsubscribe_in(unit, session, agent, uri))

    # -- prompts

    async def _list_prompts(self, _passage: Passage, context: Context, request: Request) -> Outcome:
        return _page("prompts", [prompt_of(each) for each in self._shown.prompts()], context, request)

    async def _get_prompt(self, passage: Passage, _context: Context, request: Request) -> Outcome:
        call = read_params(request.params, PromptCall)
        asked: dict[str, JsonValue] = {"name": call.name, "arguments": dict(call.arguments)}
        looked = passage.look(GET_PROMPT, asked, place="$.params")
        if any("\0" in value for value in call.arguments.values()):
            # No id and no text holds one, and what looks one of them up must not be asked.
            raise Refused.because(INVALID_PARAMS, "An argument of a prompt holds no NUL", place=ARGUMENTS)
        try:
            filled = await self._shown.prompt(call.name, call.arguments)
            return Outcome(result=prompt_result(filled), disclosed=(looked,))
        except Refused as no:
            # A blank that is missing or not known is the request's fault, whatever the prompt calls it.
            raise Refused(msgspec.structs.replace(no.refusal, code=_prompt_code(no.refusal))) from None

    async def _complete(self, passage: Passage, _context: Context, request: Request) -> Outcome:
        asked = read_params(request.params, Completion)
        of, named, value = asked.ref.name or asked.ref.uri or "", asked.argument.name, asked.argument.value
        looked = passage.look(COMPLETE, {"of": of, "argument": named, "value": value}, place="$.params")
        return Outcome(result=completion_result(self._shown.complete(of, named, value)), disclosed=(looked,))


def _fault(why: Refusal, request: Request) -> Fault:
    data = {**why.details, "reason": why.reason, "help": why.help}
    told: dict[str, JsonValue] = {name: value for name, value in data.items() if value is not None}
    return Fault(code=why.code, message=why.message, id=request.id, place=why.place, data=told)


def _prompt_code(why: Refusal) -> str:
    return why.code if why.code in (UNKNOWN_PROMPT, *_ENDS) else INVALID_PARAMS


def _page(name: str, entries: Sequence[Any], context: Context, request: Request) -> Outcome:
    cursor = read_params(request.params, Page).cursor
    return Outcome(result=page_of(name, entries, cursor, context.era))


def is_address(uri: str) -> bool:
    """Whether a text can be an address at all; what is none is looked up nowhere."""
    return _URI.fullmatch(uri) is not None


def _uri(passage: Passage, request: Request) -> str:
    uri = read_params(request.params, Uri).uri
    check_payload(uri, "$.params.uri", passage.limits)
    if not is_address(uri):
        raise Refused.because(INVALID_PARAMS, "An address is visible ASCII (RFC 3986)", place="$.params.uri")
    return uri


def _session(context: Context) -> str:
    # Subscriptions are methods of legacy revisions alone, and those are reached in a session alone.
    assert context.session is not None
    return context.session.id


def _ticket(prepared: Prepared) -> Ticket:
    found = prepared.proposal
    refused = prepared.refusal
    return Ticket(
        proposal_id=found.id,
        state=found.state.value,
        title=found.title,
        read=f"{PROPOSAL_URI}{found.id}",
        expires_at=write_instant(found.expires_at) if refused is None else None,
        article=found.article if refused is not None else None,
        reason=refused.message if refused is not None else None,
    )
