"""From a request's bytes to what is asked of the door: which route, which run, which words (GTW-004, GTW-021a).

Paths and numbers have one spelling each, so that one thing has one address; what has none is not found, as a run that
is not the caller's is. A body is JSON whether or not its type is said: the protocol's own client says none.
"""

from __future__ import annotations

import re
from typing import TypeAlias

import msgspec

from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.gateway.crossing import Crossing
from sayso.gateway.doors.acp.wire import Create, Resume
from sayso.gateway.guard.rules.codes import refusal
from sayso.gateway.guard.rules.limits import DEFAULTS, scan_depth

__all__ = (
    "PREFIX",
    "Call",
    "Cancel",
    "DescribeAgent",
    "ListAgents",
    "Ping",
    "ReadEvents",
    "ReadRun",
    "ReadSession",
    "ResumeRun",
    "StartRun",
    "read_call",
)

PREFIX = b"/api/protocols/acp"
DEFAULT_LIMIT = 10
MAX_LIMIT = 1000

_HEX = rb"[0-9a-fA-F]"
_UUID = _HEX + rb"{8}(?:-" + _HEX + rb"{4}){3}-" + _HEX + rb"{12}"
_LABEL = rb"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NUMBER = re.compile(r"(?:0|[1-9][0-9]{0,8})")
_JSON = re.compile(r"application/json(?:[ \t]*;[ \t]*charset=\"?utf-8\"?)?", re.IGNORECASE)


class Ping(msgspec.Struct, frozen=True):
    """`GET /ping`."""


class ListAgents(msgspec.Struct, frozen=True):
    """`GET /agents`: `limit` of them from `offset` on."""

    limit: int = DEFAULT_LIMIT
    offset: int = 0


class DescribeAgent(msgspec.Struct, frozen=True):
    """`GET /agents/{name}`."""

    name: str


class StartRun(msgspec.Struct, frozen=True):
    """`POST /runs`."""

    create: Create


class ReadRun(msgspec.Struct, frozen=True):
    """`GET /runs/{run_id}`."""

    run_id: str


class ReadEvents(msgspec.Struct, frozen=True):
    """`GET /runs/{run_id}/events`."""

    run_id: str


class ResumeRun(msgspec.Struct, frozen=True):
    """`POST /runs/{run_id}`."""

    run_id: str
    resume: Resume


class Cancel(msgspec.Struct, frozen=True):
    """`POST /runs/{run_id}/cancel`."""

    run_id: str


class ReadSession(msgspec.Struct, frozen=True):
    """`GET /sessions/{session_id}`, and the same with `session` as the protocol's description has it."""

    session_id: str


Call: TypeAlias = Ping | ListAgents | DescribeAgent | StartRun | ReadRun | ReadEvents | ResumeRun | Cancel | ReadSession

_ROUTES = (
    (b"GET", "ping", re.compile(rb"/ping")),
    (b"GET", "agents", re.compile(rb"/agents")),
    (b"GET", "agent", re.compile(rb"/agents/(" + _LABEL + rb")")),
    (b"POST", "start", re.compile(rb"/runs")),
    (b"GET", "run", re.compile(rb"/runs/(" + _UUID + rb")")),
    (b"POST", "resume", re.compile(rb"/runs/(" + _UUID + rb")")),
    (b"POST", "cancel", re.compile(rb"/runs/(" + _UUID + rb")/cancel")),
    (b"GET", "events", re.compile(rb"/runs/(" + _UUID + rb")/events")),
    (b"GET", "session", re.compile(rb"/sessions?/(" + _UUID + rb")")),
)


def read_call(crossing: Crossing) -> Call:
    """What is asked. Refused: `no_such_path`, `malformed_request`, `malformed_json`, `schema_invalid`,
    `payload_limits` where the envelope nests too deep.
    """
    path, _, query = crossing.target.partition(b"?")
    route, name = _route(crossing.method.encode(), path.removeprefix(PREFIX) if path.startswith(PREFIX) else b"")
    match route:
        case "start":
            return StartRun(_body(crossing, Create))
        case "resume":
            return ResumeRun(name.lower(), _resume(crossing, name.lower()))
        case _:
            return _without_body(route, name, query, crossing.body)


def _without_body(route: str, name: str, query: bytes, body: bytes) -> Call:
    if body and not (route == "cancel" and body.strip() == b"{}"):
        raise Refused(refusal("malformed_request", "This request takes no body", reason="body"))
    match route:
        case "ping":
            return Ping()
        case "agents":
            return _page(query.decode("latin-1"))
        case "agent":
            return DescribeAgent(name)
        case "run":
            return ReadRun(name.lower())
        case "cancel":
            return Cancel(name.lower())
        case "events":
            return ReadEvents(name.lower())
        case _:
            return ReadSession(name.lower())


def _route(method: bytes, path: bytes) -> tuple[str, str]:
    for wanted, route, pattern in _ROUTES:
        found = pattern.fullmatch(path) if method == wanted else None
        if found is not None:
            return route, found.group(1).decode() if pattern.groups else ""
    raise Refused(refusal("no_such_path"))


def _page(query: str) -> ListAgents:
    given: dict[str, int] = {}
    for pair in filter(None, query.split("&")):
        name, _, value = pair.partition("=")
        if name not in ("limit", "offset"):
            continue  # a later client's parameter asks for nothing we have
        if name in given or not _NUMBER.fullmatch(value):
            raise _bad_number(name)
        given[name] = int(value)
    limit = given.get("limit", DEFAULT_LIMIT)
    if not 1 <= limit <= MAX_LIMIT:
        raise _bad_number("limit")
    return ListAgents(limit, given.get("offset", 0))


def _bad_number(name: str) -> Refused:
    message = f"{name} is a whole number that stands once; limit goes from 1 to {MAX_LIMIT}, offset from 0"
    return Refused(refusal("malformed_request", message, reason="query", place=name))


def _body(crossing: Crossing, type_: type[strictjson.T]) -> strictjson.T:
    said = crossing.header(b"content-type")
    if said is not None and not _JSON.fullmatch(said):
        message = "The body is application/json, whether its type is said or not"
        raise Refused(refusal("malformed_request", message, reason="media_type", place="Content-Type"))
    scan_depth(crossing.body)
    return strictjson.decode(crossing.body, type_, depth=DEFAULTS.envelope_levels)


def _resume(crossing: Crossing, run_id: str) -> Resume:
    resume = _body(crossing, Resume)
    if resume.run_id is not None and str(resume.run_id) != run_id:
        raise Refused(refusal("schema_invalid", "The body names another run than the path", place="$.run_id"))
    return resume
