"""A governed MCP tools/call beside its floor and beside two servers that others use, in one run.

    python -m bench.gateway [--quick] [--folder DIR] [--json FILE] [--contextforge DIR] [--python PROGRAM]

Every case answers the same bytes: MCP over HTTP, one POST a call, tool `echo`, 8 connections that each send the next
call when the last is answered; once in the stateless revision 2026-07-28, once in 2025-11-25, where each connection
opens a session first. Each server is one process with uvloop and httptools; while one has its turn
the others are stopped, so that an idle one costs nothing. The client signs and sends as it goes, the same way for all.

sayso      the gateway as the house runs it, SQLite at synchronous=FULL: key, HMAC, replay, two rates, constitution,
           the act, a receipt, one commit before the answer. Eight agents, a connection each; the rates are lifted by
           the settings that everybody has.
floor      uvicorn and starlette, JSON parsed, the same HMAC, the same signature and a receipt's row, one commit.
mcp        the official server (`mcp`), streamable HTTP, JSON answers, no keys, nothing kept.
contextforge  `mcp-contextforge-gateway`, installed into an environment of its own: bearer token, SQLite as it comes,
           rates lifted by its settings, and the tool behind it as a REST endpoint, the least it can have: it is a
           proxy, so its figure holds one more hop, whose own rate is printed.
"""

from __future__ import annotations


def measure(*, quick: bool = False) -> list[dict[str, object]]:
    """Every table; what they need is loaded here, since the servers that are measured need none of it."""
    from bench.gateway import tables

    return tables.measure(quick=quick)
