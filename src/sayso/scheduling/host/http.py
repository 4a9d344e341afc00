"""The host's HTTP door: bytes to a signed, read request, one unit of work, bytes back (protocol section 5).

The order is the protocol's (5.5): the edge judges the head and bounds the body; method and media type; signature over
the configured public origin, never over Host (SCH-055); version; the body against its closed schema. The mandate's
signature is checked here too, because it needs no transaction, but it counts only once the operation asks for it. Then
`admission` does the rest in the store.

Whatever goes wrong ends in a typed refusal with a way to reach the host without an agent (SCH-336, SCH-341).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.instants import epoch, from_epoch
from sayso.core.refusal import Misuse, PeerUnreachable, Refusal, Refused
from sayso.net import edge
from sayso.net.edge import Edge, Rejection
from sayso.net.signing import read_signed
from sayso.proof.hashes import sha256
from sayso.proof.httpsig import SignedRequest
from sayso.scheduling.host.admission import Operation, admit
from sayso.scheduling.host.answers import refusal_answer, refuse
from sayso.scheduling.host.call import Answer, Call, ClaimState, NoBody
from sayso.scheduling.host.claims import ask_key_app, find_claimable
from sayso.scheduling.host.config import HostConfig, endpoint_path, public_origin
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.holding import CONFIRM_HOLD, PLACE_HOLD, RELEASE_HOLD
from sayso.scheduling.host.joining import JOIN_WAITLIST, LEAVE_WAITLIST, READ_ENTRY
from sayso.scheduling.host.looking import READ_BOOKING, READ_HOLD, SHOW_AVAILABILITY
from sayso.scheduling.host.managing import ABANDON_CHANGE, ACCEPT_CHANGE, CANCEL_BOOKING, READ_CHANGE, REQUEST_CHANGE
from sayso.scheduling.host.participating import ANSWER_INVITATION, READ_INVITATION
from sayso.scheduling.host.reconfirming import RECONFIRM
from sayso.scheduling.host.ruling import RULE_ROUTES
from sayso.scheduling.host.staff_acts import STAFF_ROUTES
from sayso.scheduling.host.walking_in import GIVE_UP_WALK_IN, TAKE_WALK_IN
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import WELL_KNOWN, Contact
from sayso.scheduling.terms.mandate_checks import Mandate, is_current, verify_mandate
from sayso.scheduling.terms.wire import VERSION
from sayso.store.failures import Taken, Unavailable
from sayso.store.unit import Store

__all__ = ("BODY_CAP", "ROUTES", "Nowhere", "Published", "document_app", "guarded", "host_app", "host_routes")

BODY_CAP = 16_384
"""Bytes of the largest request body that is read."""

ROUTES: Mapping[str, Mapping[str, Operation[Any, Any]]] = {
    "/availability": {"POST": SHOW_AVAILABILITY},
    "/holds": {"POST": PLACE_HOLD},
    "/holds/{hold_id}": {"GET": READ_HOLD},
    "/holds/{hold_id}/confirm": {"POST": CONFIRM_HOLD},
    "/holds/{hold_id}/release": {"POST": RELEASE_HOLD},
    "/bookings/{booking_id}": {"GET": READ_BOOKING},
    "/bookings/{booking_id}/cancel": {"POST": CANCEL_BOOKING},
    "/bookings/{booking_id}/invitation": {"GET": READ_INVITATION},
    "/bookings/{booking_id}/answer": {"POST": ANSWER_INVITATION},
    "/bookings/{booking_id}/reconfirm": {"POST": RECONFIRM},
    "/bookings/{booking_id}/changes": {"POST": REQUEST_CHANGE},
    "/bookings/{booking_id}/changes/{offer_id}": {"GET": READ_CHANGE},
    "/bookings/{booking_id}/changes/{offer_id}/accept": {"POST": ACCEPT_CHANGE},
    "/bookings/{booking_id}/changes/{offer_id}/abandon": {"POST": ABANDON_CHANGE},
    **STAFF_ROUTES,
    **RULE_ROUTES,
    "/host/walk-ins": {"POST": TAKE_WALK_IN},
    "/host/walk-ins/{walk_in_id}/give-up": {"POST": GIVE_UP_WALK_IN},
    "/waitlist": {"POST": JOIN_WAITLIST},
    "/waitlist/{entry_id}": {"GET": READ_ENTRY},
    "/waitlist/{entry_id}/leave": {"POST": LEAVE_WAITLIST},
}
"""Every route under the endpoint's base, by path and method (protocol 5.4)."""

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_JSON = re.compile(rb"application/json(?:\s*;\s*charset=utf-8)?", re.IGNORECASE)


def host_app(config: HostConfig, desk: Desk, store: Store, clock: Clock) -> ASGIApp:
    """The ASGI application of one host: its discovery document and its endpoint, behind the edge."""
    published = Route(WELL_KNOWN, Published(lambda: desk.document_at(clock.now()), desk.contact))
    routes = host_routes(config, desk, store, clock, endpoint_path(config))
    router = Router([published, *routes], redirect_slashes=False)
    router.default = Nowhere(desk.contact)
    return guarded(router, public_origin(config), lambda _path: desk.contact)


def document_app(config: HostConfig, desk: Desk, clock: Clock) -> ASGIApp:
    """What a host with an operator serves on its own domain: the document, and nothing else."""
    published = Published(lambda: desk.document_at(clock.now()), desk.contact)
    router = Router([Route(WELL_KNOWN, published)], redirect_slashes=False)
    router.default = Nowhere(desk.contact)
    return guarded(router, f"https://{config.domain}", lambda _path: desk.contact)


def host_routes(config: HostConfig, desk: Desk, store: Store, clock: Clock, base: str) -> list[Route]:
    """Every route of one host's endpoint, under a base path as its router sees it, signed for its public origin."""
    origin = public_origin(config)
    return [Route(base + path, _Door(methods, desk, store, clock, origin)) for path, methods in ROUTES.items()]


def guarded(app: ASGIApp, origin: str, contact_of: Callable[[str], Contact]) -> ASGIApp:
    """The edge of one origin; `contact_of` says, from the path, whose way to be reached a refusal repeats (SCH-042)."""

    def render(scope: Scope, rejection: Rejection) -> edge.Answer:
        answer = refusal_answer(rejection.refusal, contact_of(scope["path"]))
        return edge.Answer(status=answer.status, body=answer.body)

    return Edge(app, hosts=frozenset({origin.removeprefix("https://")}), body_cap=BODY_CAP, render=render)


class Published:
    """A published document: the same bytes to everybody, unsigned requests included. `document` gives those of now."""

    def __init__(self, document: Callable[[], bytes], contact: Contact) -> None:
        self._document = document
        self._contact = contact

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "GET":
            await _send(send, _refusal(self._contact, "method_not_allowed"))
            return
        await _send(send, Answer(status=200, body=self._document()), cache=b"max-age=600")


class Nowhere:
    """Every path that is none of ours."""

    def __init__(self, contact: Contact) -> None:
        self._contact = contact

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await _send(send, _refusal(self._contact, "no_such_path"))


class _Door:
    """One path of the endpoint."""

    def __init__(
        self, methods: Mapping[str, Operation[Any, Any]], desk: Desk, store: Store, clock: Clock, origin: str
    ) -> None:
        self._methods = methods
        self._desk = desk
        self._store = store
        self._clock = clock
        self._origin = origin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        desk = self._desk
        try:
            answer = await self._answer(scope, receive)
        except Refused as no:
            answer = refusal_answer(no.refusal, desk.contact)
        except PeerUnreachable:
            return  # the client hung up: there is nobody to answer
        except (Taken, Unavailable):
            # Nothing was written. Taken: the store's own constraint caught what the allocator let through; the retry
            # sees a fresh picture.
            answer = _refusal(desk.contact, "unavailable")
        except Exception:
            # The caller learns that it failed and nothing more; the server logs what it was.
            await _send(send, _refusal(desk.contact, "internal"))
            raise
        await _send(send, answer)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        operation = self._methods.get(scope["method"])
        if operation is None:
            raise refused("method_not_allowed")
        headers = dict(scope["headers"])
        _check_path(scope)
        _check_media_type(operation, headers)
        signed, body = await self._read(scope, receive)
        _check_version(headers)
        call = await self._asked(operation, _call(scope, operation, signed, body, headers.get(b"schcp-mandate", b"")))
        if operation is CONFIRM_HOLD:
            call = replace(call, claim=await self._claim(call))
        return await self._store.unit(lambda unit: admit(unit, self._desk, operation, call))

    async def _claim(self, call: Call[Any]) -> ClaimState:
        """The unit of a shared limit that confirming an open hold of this agent needs, from the key app (SCH-092)."""
        desk, hold_id = self._desk, call.named["hold_id"]
        shared = await self._store.reading(lambda view: find_claimable(view, desk.host, hold_id, call.agent))
        if shared is None:
            return "none"
        if desk.statuses.through is None:
            return "unavailable"
        found = await ask_key_app(*desk.statuses.through, desk.pen, desk.host, shared, "take")
        return "unavailable" if found == "returned" else found

    async def _asked(self, operation: Operation[Any, Any], call: Call[Any]) -> Call[Any]:
        """The call, its mandate's status asked where one is stated and the request could pass with it (SCH-094)."""
        mandate = call.presented
        if isinstance(mandate, Refused) or all(claims.status is None for claims in mandate.all_claims):
            return call
        if not operation.changes:
            return replace(call, presented=replace(mandate, standing="not_asked"))
        # Nobody makes this host fetch a URL with a mandate that is not for it, not for the caller, or over.
        if not is_current(mandate, self._desk.host, call.agent, self._clock.now()):
            return call
        return replace(call, presented=replace(mandate, standing=await self._desk.statuses.standing(mandate)))

    async def _read(self, scope: Scope, receive: Receive) -> tuple[tuple[SignedRequest, datetime], bytes]:
        keep_until: list[int] = []

        def note(_thumbprint: str, _nonce: str, until: int) -> bool:
            keep_until.append(until)
            return False  # whether it is fresh is decided in the unit of work that also acts

        now = epoch(self._clock.now())
        signed, body = await read_signed(scope, receive, public_origin=self._origin, now=now, seen=note, cap=BODY_CAP)
        if len(keep_until) != 1:
            raise Misuse("a verified request has named its nonce exactly once")
        return (signed, from_epoch(keep_until[0])), body


def _check_path(scope: Scope) -> None:
    """Ids are ours and have one form; no route takes a query."""
    named: Mapping[str, str] = scope["path_params"]
    if scope["query_string"] or not all(_ID.fullmatch(value) for value in named.values()):
        raise refused("no_such_path")


def _check_media_type(operation: Operation[Any, Any], headers: Mapping[bytes, bytes]) -> None:
    if operation.request is not NoBody and not _JSON.fullmatch(headers.get(b"content-type", b"").strip()):
        raise refused("header_invalid", "The body has to be application/json.", place="Content-Type")


def _check_version(headers: Mapping[bytes, bytes]) -> None:
    asked = headers.get(b"schcp-version")
    if asked is not None and asked != VERSION.encode():
        raise refused("unknown_version", place="SchCP-Version")


def _call(
    scope: Scope, operation: Operation[Any, Any], signed: tuple[SignedRequest, datetime], body: bytes, mandate: bytes
) -> Call[Any]:
    request, nonce_until = signed
    if operation.request is NoBody:
        if body:
            raise refused("schema_invalid", "Reading takes no body.")
        read: object = NoBody()
    else:
        read = strictjson.decode(body, operation.request)
    return Call(
        agent=request.thumbprint,
        nonce=request.nonce,
        nonce_until=nonce_until,
        operation=f"{scope['method']} {scope['path']}",
        body_sha256=sha256(body),
        mandate_sha256=sha256(mandate),
        named=scope["path_params"],
        request=read,
        presented=_present(mandate),
    )


def _present(header: bytes) -> Mandate | Refused:
    """The mandate in the header, or why it is none. An operation that needs none never looks."""
    try:
        return _verified(header)
    except Refused as no:
        return no


@lru_cache(maxsize=1024)
def _verified(header: bytes) -> Mandate:
    """Who signed a token never changes, and one mandate comes with several requests. Times are judged each time."""
    return verify_mandate(header.decode("latin-1"))


def _refusal(contact: Contact, reason: str) -> Answer:
    refusal: Refusal = refuse(reason)
    return refusal_answer(refusal, contact)


async def _send(send: Send, answer: Answer, *, cache: bytes = b"no-store") -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(answer.body)).encode()),
        (b"cache-control", cache),
    ]
    if answer.is_replay:
        headers.append((b"idempotent-replayed", b"true"))
    if answer.retry_after is not None:
        headers.append((b"retry-after", str(answer.retry_after).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
