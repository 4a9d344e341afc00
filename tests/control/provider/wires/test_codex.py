"""The Codex backend of a subscription: OpenAI's responses under rules of its own, against a server that keeps them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sayso.control.protocol.payloads.content import Message, ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from sayso.control.protocol.payloads.inference import InferenceTool, ReasoningRequest
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.provider.catalog.facts import address_of
from sayso.control.provider.catalog.reading import read_catalog
from sayso.control.provider.wires import open_wire
from sayso.control.provider.wires.codex.codec import account_of
from sayso.core import b64u, strictjson
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.net.listen import serving
from sayso.testing.provider import Call, Say, Think
from sayso.testing.vendor_servers import Answer, Said, Status, VendorServer
from sayso.testing.vendor_servers.codex import CODEX
from tests.control.provider.wires.bench import NOON, Bench, ask, offering

WIRE = "openai-codex-responses"
FINE = Said([Say("fine")])
TURN = Said([Think("a thought", "opaque"), Say("let me"), Call("look", {"q": "x"}, "c1")])
LOOK = InferenceTool(name="look", input_schema={"type": "object"})


def token(account: object = "acct-1", claim: str = "https://api.openai.com/auth") -> str:
    parts = [{"alg": "RS256"}, {claim: {"chatgpt_account_id": account}, "exp": 4_102_444_800}]
    return ".".join([*(b64u.encode(strictjson.encode(part)) for part in parts), "c2ln"])


@asynccontextmanager
async def codex(*answers: Answer, secret: str | None = None, **more: Any) -> AsyncIterator[Bench]:
    secret = token() if secret is None else secret
    server = VendorServer(CODEX, answers, keeps_carries=True)
    server.keys = {secret}
    clock = ManualClock(NOON)

    async def credential() -> str | None:
        return secret

    async with serving(server, grace=0.1) as address:
        made = offering(WIRE, f"{address.url}{CODEX.base}", credential=credential, **more)
        async with open_wire(made, clock=clock, ids=CountingIds()) as provider:
            yield Bench(server, provider, clock, [])


@pytest.mark.anyio
@pytest.mark.req("OAP-131", "OAP-141")
async def test_two_turns_with_a_tool_round_trip() -> None:
    """With the account named beside the token, instructions apart, nothing stored, and what was carried come back."""
    system = Message(role="system", content="be brief")
    async with codex(TURN, FINE) as bench:
        first = await bench.infer(ask((system, Message(role="user", content="go")), tools=(LOOK,), max_output_tokens=99,
                                      reasoning=ReasoningRequest(effort="high")))  # fmt: skip
        said = first.end.message
        result = Message(role="tool", content=(ToolResultPart(tool_call_id="c1", result="r"),))
        again = (system, Message(role="user", content="go"), said, result)
        second = await bench.infer(ask(again, tools=(LOOK,)))
        assert (first.stop_reason, second.stop_reason, second.parts) == ("tool_use", "stop", (TextPart(text="fine"),))
        body: Any = bench.server.received[0].body
        assert {name: body[name] for name in ("instructions", "store", "stream", "include", "reasoning")} == {
            "instructions": "be brief", "store": False, "stream": True, "include": ["reasoning.encrypted_content"],
            "reasoning": {"effort": "high", "summary": "auto"},
        }  # fmt: skip
        assert "max_output_tokens" not in body
        assert [item.get("role") or item["type"] for item in bench.sent["input"]] == [
            "user", "reasoning", "assistant", "function_call", "function_call_output",
        ]  # fmt: skip
        assert bench.server.received[0].headers["chatgpt-account-id"] == "acct-1"


@pytest.mark.anyio
async def test_a_conversation_without_instructions_has_some() -> None:
    """It is refused without, and nobody has to know."""
    async with codex(FINE) as bench:
        assert (await bench.infer()).stop_reason == "stop"
        assert bench.sent["instructions"]


@pytest.mark.anyio
@pytest.mark.req("OAP-132")
async def test_what_it_cannot_be_asked_is_refused_at_create() -> None:
    """Before anything is sent."""
    async with codex(FINE) as bench:
        heard = await bench.infer(ask(temperature=0.5))
        assert (heard.error.code, bench.server.received) == ("unsupported_feature", [])


@pytest.mark.anyio
@pytest.mark.req("OAP-131")
async def test_what_the_api_carries_and_what_the_subscription_carries_stay_apart() -> None:
    """It is encrypted for one account and refused by another."""
    alien = ReasoningPart(reasoning="r", carry='{"wire":"openai-responses","encrypted_content":"alien"}')
    history = (
        Message(role="user", content="a"),
        Message(role="assistant", content=(alien, TextPart(text="b"))),
        Message(role="user", content="c"),
    )
    async with codex(FINE, TURN) as bench:
        await bench.infer(ask(history))
        assert "alien" not in str(bench.sent)
        own = (await bench.infer()).end.message.content[0]
        assert isinstance(own, ReasoningPart)
        assert own.carry is not UNSET
        assert '"wire":"openai-codex-responses"' in own.carry
        assert not isinstance(own, ToolCallPart)


@pytest.mark.anyio
@pytest.mark.req("OAP-132", "OAP-154")
async def test_its_own_form_of_an_error_is_read_and_a_token_of_nobody_is_rejected() -> None:
    """`detail` is what it calls a message; the token is in none."""
    async with codex(FINE, secret="no-token-at-all") as bench:
        heard = await bench.infer()
        assert heard.error.code == "credential_rejected"
        assert "no-token" not in heard.written
    async with codex(Status(400, {"detail": "Unsupported parameter: x"})) as bench:
        error = (await bench.infer()).error
        assert (error.code, error.message) == ("invalid_request", "the vendor says: Unsupported parameter: x")


@pytest.mark.parametrize(
    ("secret", "account"),
    [
        (token(), (("chatgpt-account-id", "acct-1"),)),
        (token(""), ()),
        (token(7), ()),
        (token("a\nb"), ()),
        (token("x" * 201), ()),
        (token(claim="exp-of-another-name"), (("chatgpt-account-id", "acct-1"),)),
        ("", ()),
        ("a.b", ()),
        ("a.!!!.c", ()),
        (f"a.{b64u.encode(b'[]')}.c", ()),
    ],
)
def test_the_account_is_read_out_of_the_token_or_not_told(secret: str, account: tuple[tuple[str, str], ...]) -> None:
    """A token that says nothing of it breaks nothing here."""
    assert account_of(secret) == account


@pytest.mark.req("OAP-141")
def test_the_catalogs_row_is_spoken() -> None:
    """Where the row says, behind its own address."""
    row = next(row for row in read_catalog().providers if row.id == "openai-codex")
    assert address_of(row, {}).base_url + "/responses" == "https://chatgpt.com/backend-api/codex/responses"
    assert row.wires == (WIRE,)
