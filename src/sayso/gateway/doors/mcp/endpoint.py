"""The MCP door: `POST|GET|DELETE /api/protocols/mcp/message`, both eras on one address (GTW-001, GTW-002).

A request comes here admitted: its key, signature, rate and size are judged. What is left is reading it, calling
governance, and settling once. A POST carries messages, a GET opens the event stream of a legacy session, a DELETE ends
one. Client and server never wait for one another here: what a person decides later is told by a notification, and read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.routing import Route

import sayso
from sayso.core.frames import write_sse
from sayso.core.refusal import Refused
from sayso.core.strictjson import JsonValue
from sayso.gateway.crossing import Agent, Answer, Crossing, Denial, Stream
from sayso.gateway.doors.door import door_app
from sayso.gateway.doors.mcp.calls import Calls, Context, Outcome, is_address
from sayso.gateway.doors.mcp.codes import INVALID_REQUEST, NOT_ACCEPTABLE, SESSION_REQUIRED
from sayso.gateway.doors.mcp.offers import Offers
from sayso.gateway.doors.mcp.read.head import Head, accepts, read_head
from sayso.gateway.doors.mcp.read.message import Fault, Message, Notification, Request
from sayso.gateway.doors.mcp.read.params import Listen, read_params
from sayso.gateway.doors.mcp.read.post import Legacy, Modern, read_post, readable_id, unsupported
from sayso.gateway.doors.mcp.read.revisions import BATCHING, LEGACY, METHODS, MODERN, SUBSCRIPTION_KEY
from sayso.gateway.doors.mcp.sessions import MOST_SUBSCRIPTIONS, Sessions
from sayso.gateway.doors.mcp.shown import Shown
from sayso.gateway.doors.mcp.streams import Streams, read_event_id, sse_event
from sayso.gateway.doors.mcp.write.rpc import (
    NO_BODY,
    batch_answer,
    denial_answer,
    error_of,
    fault_answer,
    refusal_of,
    result_answer,
    result_of,
    status_of,
)
from sayso.gateway.doors.mcp.write.tools import ContentWriter
from sayso.gateway.gateway import Gateway, Passage
from sayso.gateway.guard.rules.codes import refusal
from sayso.gateway.guard.rules.limits import check_payload, scan_depth
from sayso.gateway.listening import key_may_listen
from sayso.gateway.surface import Surface
from sayso.store.unit import Unit

__all__ = ("INSTRUCTIONS", "MESSAGE_PATH", "McpDoor", "routes")

MESSAGE_PATH = "/api/protocols/mcp/message"
INSTRUCTIONS = (
    "Tools that only look answer at once. Tools that change something answer with a proposal: a person decides, and "
    "you learn the outcome by reading osz://proposals/{id}, by subscribing to it, or with proposal_status. "
    "osz://constitution says what is allowed."
)
_LISTEN = "subscriptions/listen"
_EVENTS = "text/event-stream"
_NOTHING: Mapping[str, ContentWriter] = {}
_TOKEN_BYTES = 24


class McpDoor:
    """One gateway's MCP door. `surfaces` are shown behind the house's own; `writers` make an act's answer content."""

    name = "mcp"

    def __init__(
        self,
        gateway: Gateway,
        *,
        surfaces: Sequence[Surface] = (),
        writers: Mapping[str, ContentWriter] = _NOTHING,
        instructions: str = INSTRUCTIONS,
    ) -> None:
        governor, store = gateway.governor, gateway.store
        self._shown = Shown(gate=governor.gate, constitution=governor.constitution, others=surfaces)
        self._sessions = Sessions(store, gateway.owner)
        self._streams = Streams(self._sessions, self._shown, store, gateway.clock)
        self._identity: Mapping[str, JsonValue] = {"name": "sayso", "title": "sayso", "version": sayso.__version__}
        self._calls = Calls(
            offers=Offers(governor.registry),
            shown=self._shown,
            sessions=self._sessions,
            new_session=lambda: gateway.ids.token(_TOKEN_BYTES),
            identity=self._identity,
            instructions=instructions,
            writers=writers,
        )

        self._owner = gateway.owner

    def deny(self, crossing: Crossing, denial: Denial) -> Answer:
        """A JSON-RPC error with the id of the request, where one can be read."""
        return denial_answer(readable_id(crossing.body), denial)

    async def answer(self, passage: Passage) -> Answer | Stream:
        """Answers an admitted request of any method."""
        head = read_head(passage.crossing.headers)
        match passage.crossing.method:
            case "POST":
                return await self._post(passage, head)
            case "GET" if head.version != MODERN and accepts(head.accept, _EVENTS):
                return await self._get(passage, head)
            case "DELETE" if head.version != MODERN:
                return await self._delete(passage, head)
            case _:
                allow = "POST" if head.version == MODERN else "GET, POST, DELETE"
                return await passage.refuse(refusal("method_not_allowed", allow=allow))

    # -- POST

    async def _post(self, passage: Passage, head: Head) -> Answer | Stream:
        body = passage.crossing.body
        scan_depth(body, passage.limits.envelope_levels)
        post = read_post(head, body)
        if isinstance(post, Fault):
            return await passage.refuse(refusal_of(post))
        if isinstance(post, Modern):
            return await self._modern(passage, head, post.message)
        return await self._legacy(passage, head, post)

    async def _modern(self, passage: Passage, head: Head, message: Request | Notification) -> Answer | Stream:
        if isinstance(message, Notification):
            return await passage.settle(NO_BODY, about="notification", charges=0)
        context = Context(era="modern", version=MODERN)
        if message.method == _LISTEN:
            return await self._listen(passage, head, message)
        return await self._single(passage, context, message)

    async def _legacy(self, passage: Passage, head: Head, post: Legacy) -> Answer:
        first = post.messages[0]
        opens = not post.is_batch and isinstance(first, Request) and first.method == "initialize"
        context = Context(era="legacy", version=BATCHING) if opens else await self._in_session(passage, head, post)
        if not post.is_batch:
            if isinstance(first, Request):
                return await self._single(passage, context, first)
            return await passage.settle(NO_BODY, about="notification", charges=0)
        if context.version != BATCHING:
            return await passage.refuse(refusal(INVALID_REQUEST, f"Only {BATCHING} has batches"))
        return await self._several(passage, context, post.messages)

    async def _in_session(self, passage: Passage, head: Head, post: Legacy) -> Context:
        session = await self._sessions.find(_session_named(head), passage.agent.id)
        return Context(era="legacy", version=session.version, session=session, is_batch=post.is_batch)

    async def _single(self, passage: Passage, context: Context, request: Request) -> Answer:
        outcome = await self._calls.call(passage, context, request)
        if outcome.fault is not None:
            status = status_of(outcome.fault, context.era)
            if status >= 400:
                return await passage.refuse(refusal_of(outcome.fault), status=status)
            return await passage.settle(fault_answer(outcome.fault, context.era), about=_about(request), charges=0)
        message = result_of(request.id, outcome.result, context.era, self._identity)
        return await passage.settle(
            result_answer(message, outcome.headers),
            about=request.method,
            charges=outcome.charges,
            disclosed=outcome.disclosed,
            prepared=outcome.prepared,
            effect=outcome.effect,
        )

    async def _several(self, passage: Passage, context: Context, messages: Sequence[Message]) -> Answer:
        answers: list[JsonValue] = []
        outcomes: list[Outcome] = []
        for message in messages:
            if isinstance(message, Fault):
                answers.append(error_of(message, context.era))
            elif isinstance(message, Request):
                outcome = await self._calls.call(passage, context, message)
                outcomes.append(outcome)
                if outcome.fault is not None:
                    answers.append(error_of(outcome.fault, context.era))
                else:
                    answers.append(result_of(message.id, outcome.result, context.era, self._identity))

        def effects(unit: Unit) -> None:
            for outcome in outcomes:
                if outcome.effect is not None:
                    outcome.effect(unit)

        return await passage.settle(
            batch_answer(answers),
            about="batch",
            charges=sum(each.charges for each in outcomes),
            disclosed=[found for each in outcomes for found in each.disclosed],
            prepared=[found for each in outcomes for found in each.prepared],
            effect=effects,
        )

    # -- streams and sessions

    async def _listen(self, passage: Passage, head: Head, request: Request) -> Answer | Stream:
        if not accepts(head.accept, _EVENTS):
            return await passage.refuse(refusal(NOT_ACCEPTABLE, place="Accept"))
        self._streams.demand_room(passage.agent)
        asked = read_params(request.params, Listen).notifications.resource_subscriptions[:MOST_SUBSCRIPTIONS]
        check_payload(list(asked), "$.params.notifications", passage.limits)
        wanted = dict.fromkeys(uri for uri in asked if is_address(uri))
        told = {uri: moves for uri in wanted if (moves := await self._moves(uri, passage.agent)) is not None}
        meta: Mapping[str, JsonValue] = {SUBSCRIPTION_KEY: request.id}
        honoured: dict[str, JsonValue] = {"resourceSubscriptions": list(told)} if told else {}
        acknowledged: JsonValue = {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {"notifications": honoured, "_meta": meta},
        }
        opened = Answer(status=200, body=write_sse(sse_event(acknowledged)), content_type=_EVENTS)
        head_answer = await passage.settle(opened, about=_LISTEN, charges=METHODS[_LISTEN].charges)
        if head_answer is not opened:
            return head_answer
        last = result_of(request.id, {"_meta": meta}, "modern", self._identity)
        may_listen = key_may_listen(self._owner, passage.crossing)
        return Stream(head=opened, events=self._streams.of_subscription(told, passage.agent, may_listen, meta, last))

    async def _moves(self, uri: str, agent: Agent) -> int | None:
        """How often a resource has moved; None for one that this agent may not see, which is then not honoured."""
        try:
            return await self._shown.moves(uri, agent)
        except Refused:
            return None

    async def _get(self, passage: Passage, head: Head) -> Answer | Stream:
        session = await self._sessions.find(_session_named(head), passage.agent.id)
        self._streams.demand_room(passage.agent)
        opened = Answer(status=200, content_type=_EVENTS)
        answer = await passage.settle(opened, about="stream", charges=0)
        if answer is not opened:
            return answer
        last = read_event_id(head.last_event)
        may_listen = key_may_listen(self._owner, passage.crossing)
        return Stream(head=opened, events=self._streams.of_session(session, passage.agent, may_listen, last))

    async def _delete(self, passage: Passage, head: Head) -> Answer:
        session, agent = _session_named(head), passage.agent.id
        ended = Answer(status=204, content_type="")
        return await passage.settle(
            ended, about="end", charges=0, effect=lambda unit: self._sessions.end_in(unit, session, agent)
        )


def _session_named(head: Head) -> str:
    """The session a legacy request names. Refused: a revision that is none of ours, and no session at all."""
    if head.version is not None and head.version not in LEGACY:
        raise Refused(refusal_of(unsupported(head.version)))
    if head.session is None:
        raise Refused(refusal(SESSION_REQUIRED, place="Mcp-Session-Id"))
    return head.session


def _about(request: Request) -> str:
    """What a receipt calls it: a method of ours, never a word that a client made up."""
    return request.method if request.method in METHODS else "unknown"


def routes(gateway: Gateway, door: McpDoor, *, hosts: Sequence[str] | None = None) -> list[Route]:
    """The door's one route, for an application of several doors."""
    app = door_app(gateway, door) if hosts is None else door_app(gateway, door, hosts=hosts)
    return [Route(MESSAGE_PATH, endpoint=app)]
