"""How a server is started: a child over stdio, or the way to an endpoint. Imports the `mcp` package."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from sayso.control.mcp_sources.connection import Connection
from sayso.control.mcp_sources.endpoint import dialled, read_endpoint
from sayso.control.mcp_sources.http import over_http
from sayso.control.mcp_sources.limits import Limits, Operator
from sayso.control.mcp_sources.messages import Ends, Lost, Transport
from sayso.control.mcp_sources.source import Lives
from sayso.control.mcp_sources.stdio import over_stdio
from sayso.net.child import Program

__all__ = ("lives_at", "lives_of")


def lives_of(program: Program, source_id: str, limits: Limits, operator: Operator | None) -> Callable[[], Lives]:
    """Each life is a child of its own."""

    def transport(lost: Lost) -> AbstractAsyncContextManager[Ends]:
        return over_stdio(program, limits, lost)

    return _lives(transport, source_id, limits, operator)


def lives_at(url: str, source_id: str, limits: Limits, operator: Operator | None) -> Callable[[], Lives]:
    """Each life is a session of its own at the endpoint. Refused `open_failed`: `endpoint`, `header`."""
    endpoint = read_endpoint(url, operator.headers if operator else ())

    def transport(lost: Lost) -> AbstractAsyncContextManager[Ends]:
        pool = dialled(endpoint, is_vouched_for=operator is not None)
        return over_http(endpoint, pool, limits, lost)

    return _lives(transport, source_id, limits, operator)


def _lives(transport: Transport, source_id: str, limits: Limits, operator: Operator | None) -> Callable[[], Lives]:
    trusts = operator is not None and operator.trusts_hints

    def life() -> Lives:
        return Connection(source_id, transport, limits, trusts_hints=trusts)

    return life
