"""The vendors' own SDKs against the fixture servers: what proves that the servers are faithful."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sayso.net.listen import serving
from sayso.testing.provider import Call, Say, Think
from sayso.testing.vendor_servers import VENDORS, Answer, Said, VendorServer
from sayso.testing.vendor_servers.server import KEY
from tests.control.provider.wires.bench import CHAT, GENERATE, MESSAGES, RESPONSES

pytestmark = [
    pytest.mark.anyio,
    # What the SDKs warn of is not ours to mend.
    pytest.mark.filterwarnings("default::DeprecationWarning", "default::ResourceWarning", "default::UserWarning"),
]
TURN = Said([Think("hm", "c2lnbmF0dXJl"), Say("hel", "lo"), Call("look", {"q": "x"}, "call_1")])


@asynccontextmanager
async def served(wire: str, answers: Iterable[Answer]) -> AsyncIterator[str]:
    server = VendorServer(VENDORS[wire], answers)
    async with serving(server, grace=0.1) as address:
        yield f"{address.url}{server.vendor.base}"


@pytest.mark.req("OAP-133")
async def test_openai_reads_the_chat_server() -> None:
    """Chunks, a call in pieces, usage, and its own error for a wrong key."""
    openai = pytest.importorskip("openai")
    async with served(CHAT, [TURN]) as url:
        async with openai.AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
            stream = await client.chat.completions.create(
                model="fixture", messages=[{"role": "user", "content": "go"}], stream=True,
                stream_options={"include_usage": True},
            )  # fmt: skip
            chunks = [chunk async for chunk in stream]
        async with openai.AsyncOpenAI(base_url=url, api_key="wrong", max_retries=0) as client:
            with pytest.raises(openai.AuthenticationError):
                await client.chat.completions.create(model="fixture", messages=[{"role": "user", "content": "go"}])
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    calls = [call for delta in deltas for call in delta.tool_calls or ()]
    assert "".join(delta.content or "" for delta in deltas) == "hello"
    assert (calls[0].id, calls[0].function.name) == ("call_1", "look")
    assert "".join(call.function.arguments for call in calls) == '{"q":"x"}'
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "tool_calls"
    assert chunks[-1].usage.total_tokens == 10


@pytest.mark.req("OAP-133")
async def test_openai_reads_the_responses_server() -> None:
    """Typed events to the end, and the whole response in the last one."""
    openai = pytest.importorskip("openai")
    async with served(RESPONSES, [TURN]) as url, openai.AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
        stream = await client.responses.create(model="fixture", input="go", stream=True)
        events = [event async for event in stream]
    assert (events[0].type, events[-1].type) == ("response.created", "response.completed")
    thought, message, call = events[-1].response.output
    assert (thought.summary[0].text, thought.encrypted_content) == ("hm", "c2lnbmF0dXJl")
    assert (message.content[0].text, call.call_id, call.arguments) == ("hello", "call_1", '{"q":"x"}')
    assert events[-1].response.usage.total_tokens == 10
    told = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert told == "hello"


@pytest.mark.req("OAP-133")
async def test_anthropic_reads_the_messages_server() -> None:
    """Its helper puts the message together from the blocks, and raises its own error for a wrong key."""
    anthropic = pytest.importorskip("anthropic")
    asked: Any = {"model": "fixture", "max_tokens": 99, "messages": [{"role": "user", "content": "go"}]}
    async with served(MESSAGES, [TURN]) as url:
        client = anthropic.AsyncAnthropic(base_url=url, api_key=KEY, max_retries=0)
        async with client, client.messages.stream(**asked) as stream:
            message = await stream.get_final_message()
        async with anthropic.AsyncAnthropic(base_url=url, api_key="wrong", max_retries=0) as client:
            with pytest.raises(anthropic.AuthenticationError):
                await client.messages.create(**asked)
    thought, text, use = message.content
    assert (thought.thinking, thought.signature, text.text) == ("hm", "c2lnbmF0dXJl", "hello")
    assert (use.id, use.name, use.input) == ("call_1", "look", {"q": "x"})
    assert (message.stop_reason, message.usage.input_tokens, message.usage.output_tokens) == ("tool_use", 7, 3)


@pytest.mark.req("OAP-133")
async def test_google_reads_the_generate_server() -> None:
    """Thoughts with their signature, text, a whole call, figures, and its own error for a wrong key."""
    genai = pytest.importorskip("google.genai")
    async with served(GENERATE, [TURN]) as url:
        root = url.removesuffix("/v1beta")
        options = genai.types.HttpOptions(base_url=root, api_version="v1beta")
        async with genai.Client(api_key=KEY, http_options=options).aio as client:
            stream = await client.models.generate_content_stream(model="fixture", contents="go")
            chunks = [chunk async for chunk in stream]
        async with genai.Client(api_key="wrong", http_options=options).aio as client:
            with pytest.raises(genai.errors.ClientError):
                async for _ in await client.models.generate_content_stream(model="fixture", contents="go"):
                    pass
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or ()]
    assert [(part.text, part.thought_signature) for part in parts if part.thought] == [("hm", b"signature")]
    assert "".join(part.text for part in parts if part.text and not part.thought) == "hello"
    assert [(part.function_call.name, part.function_call.args) for part in parts if part.function_call] == [
        ("look", {"q": "x"})
    ]
    assert chunks[-1].usage_metadata.total_token_count == 10
