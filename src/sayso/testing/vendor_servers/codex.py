"""The Codex backend of a ChatGPT subscription: the responses API with rules of its own.

Not among `VENDORS`: its credential is a token that names an account, and only what differs is worth testing twice.
"""

from __future__ import annotations

from typing import Any

from sayso.control.provider.wires.codex.codec import account_of
from sayso.testing.vendor_servers.chat import bearer
from sayso.testing.vendor_servers.responses import RESPONSES
from sayso.testing.vendor_servers.server import Problem, Received, Vendor

__all__ = ("CODEX",)

_REFUSED = ("max_output_tokens", "temperature", "top_p", "metadata")
_BASE = "/backend-api/codex"


def _judge(received: Received) -> Problem | None:
    body: Any = received.body
    account = dict(account_of(bearer(received) or ""))
    if not account or received.headers.get("chatgpt-account-id") != account["chatgpt-account-id"]:
        return Problem(403, "forbidden", "this token is not for that account")
    if not received.headers.get("originator"):
        return Problem(403, "forbidden", "who asks is not said")
    if received.path != f"{_BASE}/responses":
        return Problem(404, "not_found", "Not Found")
    for name in _REFUSED:
        if name in body:
            return Problem(400, "bad_request", f"Unsupported parameter: {name}")
    if body.get("store") is not False:
        return Problem(400, "bad_request", "Store must be set to false")
    if body.get("stream") is not True:
        return Problem(400, "bad_request", "Stream must be set to true")
    if not body.get("instructions"):
        return Problem(400, "bad_request", "Instructions are required")
    if any(item.get("role") in ("system", "developer") for item in body["input"]):
        return Problem(400, "bad_request", "System messages are not allowed")
    rest = {name: value for name, value in body.items() if name != "instructions"}
    plain = Received("/v1/responses", received.query, received.headers, rest, received.raw)
    return RESPONSES.judge(plain)


def _error(problem: Problem) -> object:
    return {"detail": problem.message}


CODEX = Vendor("openai-codex-responses", _BASE, RESPONSES.stream, _judge, _error, bearer, RESPONSES.listing)
