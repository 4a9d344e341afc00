"""The description of every REST door in one OpenAPI 3.1 document, printed from the types that decode and encode.

What is described is what is served: the schemas are those of the Structs behind each route, closed where these are
closed. MCP and A2A's JSON-RPC speak for themselves (`tools/list`, the agent card) and are named here by address only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from starlette.routing import Route
from starlette.types import Scope

from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.gateway.a2a_operations import OPERATIONS as A2A
from sayso.gateway.doors.acp.operations import OPERATIONS as ACP
from sayso.gateway.doors.door import public_app
from sayso.gateway.doors.tasks.operations import OPERATIONS as TASKS
from sayso.gateway.operation import Operation, Parameter, Shape
from sayso.gateway.pages import Page, Reply
from sayso.gateway.published_operations import OPERATIONS as PUBLISHED
from sayso.gateway.strangers import Strangers
from sayso.net.edge import LOOPBACK_HOSTS, Edge
from sayso.proof.hashes import sha256_hex

__all__ = ("DOORS", "PATH", "describe", "openapi_routes")

PATH = "/api/openapi.json"
_SCHEMAS = "#/components/schemas/"
DOORS: Mapping[str, tuple[str, Sequence[Operation]]] = {
    "Acp": ("Agent Communication Protocol, as its release 1.0.3 speaks it", ACP),
    "A2a": ("Agent-to-Agent 1.0, its REST binding", A2A),
    "Task": ("Task feed: work that an owner assigned", TASKS),
    "Receipt": ("Published receipts: no key, the same bytes to everybody", PUBLISHED),
}
"""Each door's part of the names of schemas, what it is, and its operations."""

_DESCRIPTION = (
    "Every request to a door carries X-OSz-Agent-Key. What is not a GET carries X-OSz-Timestamp (milliseconds since "
    "1970) and X-OSz-Signature, the HMAC-SHA256 in hex of timestamp, a dot and the raw body under the key; "
    "X-OSz-Signature-V2 covers method and path too. A body has at most 8,192 bytes, a text in it 2,000 characters, and "
    "what is handed to an act four levels. Whoever comes too often is told how long to wait in Retry-After."
)
_SCHEMES = {
    "key": ("X-OSz-Agent-Key", "The key that the owner issued"),
    "timestamp": ("X-OSz-Timestamp", "Milliseconds since 1970, within 60 seconds of the server's clock"),
    "signature": ("X-OSz-Signature", "HMAC-SHA256 in hex of timestamp, a dot and the raw body, under the key"),
}
_MEANINGS = {
    200: "Done",
    202: "Taken in",
    304: "Unchanged",
    400: "Malformed",
    401: "No key, or none that is known",
    403: "A signature, a suspension or a scope forbids it",
    404: "There is no such thing for this caller",
    405: "Not by this method",
    409: "Decided otherwise before",
    413: "A limit of the payload",
    429: "Too often; Retry-After says how long to wait",
    500: "Our fault",
    503: "Not now",
}


def describe(doors: Mapping[str, tuple[str, Sequence[Operation]]] = DOORS, *, origin: str = "/") -> dict[str, Any]:
    """The document. `origin` is where the doors are reached from outside."""
    paths: dict[str, dict[str, Any]] = {}
    schemas: dict[str, Any] = {}
    tags = []
    for prefix, (about, operations) in doors.items():
        tags.append({"name": prefix.lower(), "description": about})
        schemas |= _schemas(prefix, operations)
        for each in operations:
            paths.setdefault(each.path, {})[each.method.lower()] = _operation(prefix, each)
    return {
        "openapi": "3.1.0",
        "info": {"title": "sayso gateway", "version": "2.0", "description": _DESCRIPTION},
        "servers": [{"url": origin}],
        "tags": tags,
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                name: {"type": "apiKey", "in": "header", "name": header, "description": said}
                for name, (header, said) in _SCHEMES.items()
            },
        },
    }


def openapi_routes(clock: Clock, *, hosts: Iterable[str] | None = LOOPBACK_HOSTS, origin: str = "/") -> list[Route]:
    """The document's own address, public."""
    body = strictjson.encode(describe(origin=origin))
    reply = Reply(body=body, tag=sha256_hex(body)[:32])

    async def answer(_scope: Scope) -> Reply:
        return reply

    app = Edge(Page(answer, Strangers(clock)), hosts=hosts, body_cap=0)
    return [Route(PATH, endpoint=public_app(app, "the description of the doors; it says nothing of any house"))]


def _operation(prefix: str, each: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": each.id,
        "summary": each.summary,
        "tags": [prefix.lower()],
        "security": [] if not each.needs_key else [{name: [] for name in _needed(each.method)}],
        "parameters": [_parameter(parameter) for parameter in each.parameters],
        "responses": {
            **{str(status): _response(prefix, each, status, shapes) for status, shapes in each.answers.items()},
            **{str(status): _response(prefix, each, status, (each.failure,)) for status in each.denials},
        },
    }
    if each.body is not None:
        schema = {"$ref": _name(prefix, each.body)}
        found["requestBody"] = {"required": True, "content": {each.media_type: {"schema": schema}}}
    return found


def _needed(method: str) -> Sequence[str]:
    return ("key",) if method == "GET" else tuple(_SCHEMES)


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.where,
        "required": parameter.required,
        "description": parameter.description,
        "schema": dict(parameter.schema),
    }


def _response(prefix: str, each: Operation, status: int, shapes: Sequence[Shape]) -> dict[str, Any]:
    content = {
        shape if isinstance(shape, str) else each.media_type: {
            "schema": {"type": "string"} if isinstance(shape, str) else {"$ref": _name(prefix, shape)}
        }
        for shape in shapes
    }
    found: dict[str, Any] = {"description": _MEANINGS[status], "content": content}
    if status == 429:
        found["headers"] = {"Retry-After": {"required": True, "schema": {"type": "integer", "minimum": 1}}}
    return found


def _name(prefix: str, type_: type[msgspec.Struct]) -> str:
    return f"{_SCHEMAS}{_prefixed(prefix, type_.__name__)}"


def _prefixed(prefix: str, name: str) -> str:
    """Two doors may call a document alike; a name that says already whose it is says it once."""
    return prefix + name.removeprefix(prefix)


def _schemas(prefix: str, operations: Sequence[Operation]) -> dict[str, Any]:
    wanted: dict[type[msgspec.Struct], None] = {}
    for each in operations:
        shapes = (each.body, each.failure, *(shape for shapes in each.answers.values() for shape in shapes))
        wanted.update(dict.fromkeys(shape for shape in shapes if isinstance(shape, type)))
    _, found = msgspec.json.schema_components(list(wanted), ref_template=f"{_SCHEMAS}{{name}}")
    return {_prefixed(prefix, name): _referring(prefix, schema) for name, schema in found.items()}


def _referring(prefix: str, schema: Any) -> Any:
    """The schema with every reference to a document under the name that it has in here."""
    if isinstance(schema, dict):
        return {key: _referring(prefix, value) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_referring(prefix, value) for value in schema]
    if isinstance(schema, str) and schema.startswith(_SCHEMAS):
        return f"{_SCHEMAS}{_prefixed(prefix, schema.removeprefix(_SCHEMAS))}"
    return schema
