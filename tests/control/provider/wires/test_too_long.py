"""A conversation that is too long is told apart from other refusals, whoever refuses it (OAP-133, OAP-155)."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.control.provider.wires.faults import failure_of_status
from sayso.control.provider.wires.offering import Limits
from sayso.control.provider.wires.retry import next_wait
from sayso.control.provider.wires.too_long import TOO_LONG
from sayso.core import strictjson
from sayso.testing.vendor_servers import Status, Stream, frame
from tests.control.provider.wires.bench import ALL, CHAT, GENERATE, MESSAGES, RESPONSES, open_bench

OPENAI = {"error": {"code": "context_length_exceeded", "type": "invalid_request_error",
                    "message": "Your input exceeds the context window of this model."}}  # fmt: skip
ANTHROPIC = {"type": "error", "error": {"type": "invalid_request_error",
                                        "message": "prompt is too long: 213462 tokens > 200000 maximum"}}  # fmt: skip
GOOGLE = {
    "error": {
        "code": 400,
        "status": "INVALID_ARGUMENT",
        "message": "The input token count (2845475) exceeds the maximum number of tokens allowed (1048576).",
    }
}
BY_WIRE: dict[str, Any] = {CHAT: OPENAI, RESPONSES: OPENAI, MESSAGES: ANTHROPIC, GENERATE: GOOGLE}


@pytest.mark.anyio
@pytest.mark.parametrize("wire", ALL)
@pytest.mark.req("OAP-133", "OAP-155")
async def test_each_vendors_refusal_for_length_says_so_and_is_not_repeated(wire: str) -> None:
    """As the answer to the request, and as an event of its stream."""
    refusal = BY_WIRE[wire]
    streamed = {"type": "error", **refusal}
    async with open_bench(wire, [Status(400, refusal), Stream([frame(streamed)])]) as bench:
        told = [await bench.infer(), await bench.infer()]
    assert [(heard.error.code, heard.reason, heard.error.retriable) for heard in told] == [
        ("invalid_request", TOO_LONG, False)
    ] * 2
    assert all(heard.error.details["reason"] == "context_too_long" for heard in told)
    assert len(bench.server.received) == 2


@pytest.mark.parametrize(
    "said",
    [
        "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease input length",
        "This model's maximum context length is 65536 tokens. However, you requested 80000 tokens",
        "This endpoint's maximum context length is 128000 tokens.",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "Please reduce the length of the messages or completion.",
        "Invalid request: Your request exceeded model token limit: 262144",
        "Prompt exceeds max length",
        "invalid params, context window exceeds limit",
        "the request exceeds the available context size, try increasing it",
        "Input tokens exceed the configured limit of 272000 tokens.",
        "prompt token count of 140000 exceeds the limit of 128000",
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 98304]",
    ],
)
@pytest.mark.req("OAP-133")
def test_a_length_is_read_from_a_vendors_words(said: str) -> None:
    """Which name it in no other way."""
    body = strictjson.encode({"error": {"message": said, "type": "invalid_request_error"}})
    assert failure_of_status(400, body, None).reason == TOO_LONG


@pytest.mark.req("OAP-133")
def test_a_length_is_read_from_a_name_a_status_and_a_quotation() -> None:
    """A server of one's own, a proxy before the vendor, and a vendor behind another."""
    local = b'{"error":{"code":500,"type":"exceed_context_size_error","message":"no"}}'
    routed = b'{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"prompt is too long"}}}'
    found = [failure_of_status(*answer, None) for answer in ((500, local), (400, routed), (413, b"<html>"))]
    assert [(failure.code, failure.reason) for failure in found] == [("invalid_request", TOO_LONG)] * 3
    assert [next_wait(failure, 1, 0.0, Limits()) for failure in found] == [None] * 3


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (429, {"type": "rate_limit_error", "message": "prompt is too long for your tokens per minute"}),
        (429, {"code": "rate_limit_exceeded", "message": "Request too large on tokens per min: maximum input length"}),
        (400, {"type": "invalid_request_error", "message": "max_tokens: 99999 > 8192, which is the maximum allowed"}),
        (400, {"type": "invalid_request_error", "message": "tools.0.name: String should have at most 64 characters"}),
        (401, {"type": "authentication_error", "message": "input too long"}),
        (400, {"message": {"prompt is too long": 1}, "metadata": "prompt is too long"}),
    ],
)
@pytest.mark.req("OAP-133")
def test_what_no_shorter_conversation_would_mend_is_not_told_as_one(status: int, error: dict[str, object]) -> None:
    """A limit in time, a setting, a key."""
    assert failure_of_status(status, strictjson.encode({"error": error}), None).reason is None
