"""The guard over real sockets: every bad request has the right status, the door's own shape, and a receipt."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import anyio.from_thread
import anyio.to_thread
import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.types import Message

from sayso.core.clock import ManualClock
from sayso.core.frames import SseEvent
from sayso.gateway.crossing import Answer, Crossing, Stream
from sayso.gateway.doors.door import door_app
from sayso.gateway.gateway import Passage
from sayso.gateway.guard.agents import Issued
from sayso.store.failures import Unavailable
from sayso.testing.gateway import Bench, ToyDoor, open_gateway, serving_door, sign
from tests.gateway.knocks import last, receipts
from tests.gateway.wire import Got, call, echo, exchange

pytestmark = pytest.mark.anyio


class House(NamedTuple):
    bench: Bench
    url: str
    ada: Issued

    def sign(self, body: bytes = b"", method: str = "POST", target: str = "/") -> dict[str, str]:
        return sign(self.ada.key, body, method, target, clock=self.bench.clock, v2=True)


@pytest.fixture
async def house(tmp_path: Path, clock: ManualClock) -> AsyncIterator[House]:
    async with open_gateway(tmp_path, clock=clock) as bench, serving_door(bench, ToyDoor()) as url:
        yield House(bench, url, await bench.issue("ada"))


@pytest.mark.req("GTW-011", "GTW-012")
async def test_a_signed_call_crosses(house: House) -> None:
    """Key, timestamp, both signatures; the path with its query as it was sent."""
    body = echo()
    got = await call(house.url, body, house.sign(body, target="/a%20b?q=%41"), target="/a%20b?q=%41")
    assert (got.status, got.json, got.headers["content-type"]) == (200, {"text": "hi"}, "application/json")


@pytest.mark.req("GTW-011")
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"])
async def test_every_method_but_get_and_head_is_signed(house: House, method: str) -> None:
    """A key alone opens nothing that could change something."""
    got = await call(house.url, b"", {"X-OSz-Agent-Key": house.ada.key}, method=method)
    assert (got.status, got.code) == (403, "missing_signature")
    signed = await call(house.url, echo(), house.sign(echo(), method), method=method)
    assert signed.status == 200


@pytest.mark.req("GTW-010", "GTW-011")
async def test_a_get_needs_the_key_alone(house: House) -> None:
    """And without it 401."""
    got = await call(house.url, headers={"X-OSz-Agent-Key": house.ada.key}, method="GET")
    assert (got.status, got.json) == (200, {"hello": True})
    assert (await call(house.url, method="GET")).code == "missing_key"
    wrong = await call(house.url, headers={"X-OSz-Agent-Key": "osz_no"}, method="GET")
    assert (wrong.status, wrong.code) == (401, "unknown_key")


@pytest.mark.req("GTW-021")
@pytest.mark.parametrize("chunked", [False, True])
async def test_8192_bytes_pass_and_one_more_does_not(house: House, chunked: bool) -> None:
    """Counted as they come: a chunked body has no length to judge by."""
    body = echo("x") + b" " * (8192 - len(echo("x")))
    whole = await send(house, body, chunked=chunked)
    assert whole.status == 200
    over = await send(house, body + b" ", chunked=chunked)
    assert (over.status, over.code, over.headers["connection"]) == (413, "body_too_large", "close")
    assert await last(house.bench) == ("crossing.refused", "stranger", "body_too_large")


@pytest.mark.req("GTW-021")
@pytest.mark.parametrize(("pieces", "status"), [([4096, 4096], 200), ([8192, 1], 413), ([1] * 8193, 413)])
async def test_a_body_is_counted_over_all_its_pieces(
    tmp_path: Path, clock: ManualClock, pieces: list[int], status: int
) -> None:
    """Whatever way the network cut it; what comes after the last byte that is allowed is not asked for."""
    async with open_gateway(tmp_path, clock=clock) as bench:
        ada = await bench.issue("ada")
        body = echo("x") + b" " * (sum(pieces) - len(echo("x")))
        headers = sign(ada.key, body, clock=clock) | {"host": "localhost"}
        left, sent = iter(pieces), []
        at = 0

        async def receive() -> Message:
            nonlocal at
            size = next(left)
            at += size
            return {"type": "http.request", "body": body[at - size : at], "more_body": at < len(body)}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/",
            "query_string": b"",
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        }
        await door_app(bench.gateway, ToyDoor())(scope, receive, send)
        assert (sent[0]["status"], at) == (status, min(len(body), 8193))


async def send(house: House, body: bytes, *, chunked: bool) -> Got:
    headers = house.sign(body)
    if chunked:
        return await call(house.url, headers=headers, chunks=[body[at : at + 1000] for at in range(0, len(body), 1000)])
    return await call(house.url, body, headers)


@pytest.mark.req("GTW-013a")
@pytest.mark.parametrize("name", ["X-OSz-Agent-Key", "X-OSz-Timestamp", "X-OSz-Signature", "X-OSz-Signature-V2"])
async def test_an_auth_header_stands_once_and_in_ascii(house: House, name: str) -> None:
    """Twice, even with the same value, and non-ASCII bytes are told by name; the value is not repeated."""
    headers = house.sign(echo())
    pairs: list[tuple[str | bytes, str | bytes]] = [*headers.items(), (name.lower(), headers[name])]
    twice = await call(house.url, echo(), pairs)
    assert (twice.status, twice.code) == (400, "repeated_header")
    odd = await call(house.url, echo(), {**headers, name: headers[name][:-1]} | {name: headers[name][:-1] + "\xe9"})
    assert (odd.status, odd.code, odd.json["error"]["place"]) == (400, "malformed_header", name)
    assert headers[name][:12] not in twice.body.decode() + odd.body.decode()


@pytest.mark.req("GTW-013a")
@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Content-Encoding": "gzip"}, 400, "content_encoding_refused"),
        ({"Content-Encoding": "identity"}, 400, "content_encoding_refused"),
        ({"Origin": "https://web.example"}, 403, "cross_origin_request"),
        ({"X-OSz-Timestamp": "17603604000"}, 400, "malformed_timestamp"),
        ({"X-OSz-Timestamp": "1760360400"}, 400, "malformed_timestamp"),
        ({"X-OSz-Timestamp": "-760360400000"}, 400, "malformed_timestamp"),
        ({"X-OSz-Timestamp": "1_76036040000"}, 400, "malformed_timestamp"),
        ({"X-OSz-Timestamp": "+760360400000"}, 400, "malformed_timestamp"),
        ({"X-OSz-Timestamp": "1000000000000"}, 403, "stale_timestamp"),
        ({"X-OSz-Timestamp": "9999999999999"}, 403, "stale_timestamp"),
        ({"X-OSz-Timestamp": ""}, 403, "missing_signature"),
        ({"X-OSz-Signature": ""}, 403, "missing_signature"),
        ({"X-OSz-Signature": "deadbeef"}, 403, "malformed_signature"),
        ({"X-OSz-Signature": "0x" + "0" * 62}, 403, "malformed_signature"),
        ({"X-OSz-Signature": "0" * 64}, 403, "bad_signature"),
        ({"X-OSz-Signature-V2": "0" * 64}, 403, "bad_signature"),
        ({"X-OSz-Agent-Key": ""}, 401, "missing_key"),
        ({"X-OSz-Agent-Key": "x" * 5000}, 401, "unknown_key"),
    ],
)
async def test_a_bad_head_is_refused_by_its_code(house: House, headers: dict[str, str], status: int, code: str) -> None:
    """In the door's shape, with a receipt, and never a 500."""
    got = await call(house.url, echo(), house.sign(echo()) | headers)
    assert (got.status, got.code, got.json["number"] // 100) == (status, code, status)
    assert (await last(house.bench))[2] == code


@pytest.mark.req("GTW-013a")
async def test_a_timestamp_in_seconds_is_told_as_such(house: House) -> None:
    """It is the commonest mistake."""
    got = await call(house.url, echo(), house.sign(echo()) | {"X-OSz-Timestamp": "1760360400"})
    assert "seconds" in got.json["error"]["message"]


async def test_a_foreign_host_is_refused(house: House) -> None:
    """DNS rebinding meets the guard first; its refusal has a receipt too."""
    raw = b"GET / HTTP/1.1\r\nhost: evil.example\r\n\r\n"
    got = await exchange(house.url, raw)
    assert (got.status, got.code) == (403, "foreign_host")
    assert await last(house.bench) == ("crossing.refused", "stranger", "foreign_host")


@pytest.mark.req("GTW-011")
async def test_white_space_around_a_header_is_not_its_value(house: House) -> None:
    """Whatever stands in front of us may add it."""
    headers = {name: f"  {value}\t " for name, value in house.sign(echo()).items()}
    assert (await call(house.url, echo(), headers)).status == 200


@pytest.mark.req("GTW-011", "GTW-012")
async def test_what_is_not_the_signed_bytes_is_refused(house: House) -> None:
    """A body that means the same, another path under V2, another method, another agent's key."""
    body = echo()
    spaced = json.dumps(json.loads(body), separators=(",", ":")).encode()
    bob = await house.bench.issue("bob")
    tries = [
        await call(house.url, spaced, house.sign(body)),
        await call(house.url, body, house.sign(body, target="/a"), target="/b"),
        await call(house.url, body, house.sign(body, "PUT"), method="PATCH"),
        await call(house.url, body, house.sign(body) | {"X-OSz-Agent-Key": bob.key}),
    ]
    assert [(got.status, got.code) for got in tries] == [(403, "bad_signature")] * 4


@pytest.mark.req("GTW-012")
async def test_a_v1_signature_cannot_be_carried_to_another_path(house: House) -> None:
    """The replay check holds across paths and doors of one agent."""
    headers = sign(house.ada.key, echo(), clock=house.bench.clock)
    assert (await call(house.url, echo(), headers, target="/tasks/a/result")).status == 200
    got = await call(house.url, echo(), headers, target="/tasks/b/result")
    assert (got.status, got.code, got.headers["x-osz-violations-left"]) == (403, "replayed_signature", "4")


@pytest.mark.req("GTW-021")
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"[" * 4000, 413, "payload_limits"),
        (b'{"act":' * 13 + b"1" + b"}" * 13, 413, "payload_limits"),
        (echo("x" * 2001), 413, "payload_limits"),
        (b'{"act":"mirror","arguments":{"value":[[[[1]]]]}}', 413, "payload_limits"),
        (b'{"act":NaN}', 400, "malformed_json"),
        (b'{"act":1e400}', 400, "malformed_json"),
        (b'{"act":"echo","act":"echo"}', 400, "malformed_json"),
        (b'{"act":"\\ud800"}', 400, "malformed_json"),
        (b'{"act":"\xff"}', 400, "malformed_json"),
        (b"\xef\xbb\xbf{}", 400, "malformed_json"),
        (b"", 400, "malformed_json"),
        (b"{} {}", 400, "malformed_json"),
        (b"[]", 400, "malformed_request"),
        (b'{"act":"echo","arguments":[]}', 400, "schema_invalid"),
        (b'{"act":"echo","arguments":{"text":1}}', 400, "schema_invalid"),
        (b'{"act":"no_such_act","arguments":{}}', 404, "unclassified_act"),
        (b'{"act":"take_note","arguments":{"text":"x","more":1}}', 400, "schema_invalid"),
    ],
)
async def test_a_bad_body_is_refused_by_its_code(house: House, body: bytes, status: int, code: str) -> None:
    """Under a good signature: limits count, mistakes do not."""
    got = await call(house.url, body, house.sign(body))
    assert (got.status, got.code) == (status, code)
    assert await receipts(house.bench) == [("crossing.refused", house.ada.agent.id, code)]
    assert len(await house.bench.agents.violations()) == (1 if status == 413 else 0)


@pytest.mark.req("GTW-013")
async def test_a_suspended_agent_is_refused_before_its_signature_is_looked_at(house: House) -> None:
    """403, whatever it sends."""
    await house.bench.agents.suspend(house.ada.agent.id, by="owner", reason="lunch")
    for headers in (house.sign(echo()), {"X-OSz-Agent-Key": house.ada.key}):
        got = await call(house.url, echo(), headers)
        assert (got.status, got.code, got.headers["x-osz-violations-left"]) == (403, "agent_suspended", "0")


HEADERS = st.dictionaries(
    st.sampled_from(["X-OSz-Agent-Key", "X-OSz-Timestamp", "X-OSz-Signature", "X-OSz-Signature-V2"]),
    st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\0"), max_size=70),
    max_size=4,
)


@pytest.mark.req("GTW-013a", "GTW-022")
async def test_no_headers_and_no_body_make_a_500(house: House, clock: ManualClock) -> None:
    """Arbitrary ones beside arbitrary bytes, with a good key or without: refused, receipted, in shape."""

    async def one(headers: dict[str, str], body: bytes, known: bool) -> None:
        clock.advance(timedelta(minutes=5))
        if known:
            headers = headers | {"X-OSz-Agent-Key": house.ada.key}
        pairs = tuple((name.lower().encode(), value.encode("latin-1")) for name, value in headers.items())
        answer = await house.bench.gateway.enter(
            Crossing(door="mcp", method="POST", target=b"/", headers=pairs, body=body, peer="x"), ToyDoor().deny
        )
        assert isinstance(answer, Answer)
        assert answer.status in (400, 401, 403, 429)
        assert "error" in json.loads(answer.body)

    @settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(HEADERS, st.binary(max_size=20), st.booleans())
    def check(headers: dict[str, str], body: bytes, known: bool) -> None:
        anyio.from_thread.run(one, headers, body, known)

    await anyio.to_thread.run_sync(check)


class Broken(ToyDoor):
    """A door with a bug, whose message holds what nobody may read in a log."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    async def answer(self, passage: Passage) -> Answer | Stream:
        if self.error is not None:
            raise self.error
        return Answer(status=200, body=b"{}")


@pytest.mark.req("GTW-050", "GTW-022")
@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (ValueError("secret payload"), 500, "internal_error"),
        (Unavailable("disk full"), 503, "unavailable"),
        (None, 500, "internal_error"),
    ],
)
async def test_a_bug_is_a_receipted_500_that_tells_nothing(
    tmp_path: Path,
    clock: ManualClock,
    capfd: pytest.CaptureFixture[str],
    error: Exception | None,
    status: int,
    code: str,
) -> None:
    """In the door's own shape; the log has where it was, not what it said. An unsettled answer is a bug too."""
    async with open_gateway(tmp_path, clock=clock) as bench, serving_door(bench, Broken(error)) as url:
        ada = await bench.issue("ada")
        got = await call(url, echo(), sign(ada.key, echo(), clock=clock))
        assert (got.status, got.code) == (status, code)
        assert await receipts(bench) == [("crossing.refused", ada.agent.id, code)]
    said = capfd.readouterr()
    logged = said.out + said.err
    assert "a door failed" in logged
    assert "secret payload" not in logged + got.body.decode()


class Streaming(ToyDoor):
    """Answers with an event at once and one that follows."""

    async def answer(self, passage: Passage) -> Answer | Stream:
        head = Answer(
            status=200, body=b"data: first\n\n", content_type="text/event-stream", headers=((b"x-run", b"1"),)
        )
        settled = await passage.settle(head, about="stream")
        if settled is not head:
            return settled

        async def events() -> AsyncIterator[SseEvent]:
            yield SseEvent(b"second", "message", None)

        return Stream(head=head, events=events())


@pytest.mark.req("GTW-050")
async def test_a_stream_begins_with_what_was_receipted(tmp_path: Path, clock: ManualClock) -> None:
    """A denial of its settlement is an ordinary answer."""
    async with open_gateway(tmp_path, clock=clock) as bench, serving_door(bench, Streaming()) as url:
        ada = await bench.issue("ada")
        headers = sign(ada.key, echo(), clock=clock)
        async with httpx2.AsyncClient(base_url=url) as client:
            got = await client.post("/", content=echo(), headers=headers)
            assert (got.status_code, got.content) == (200, b"data: first\n\ndata: second\n\n")
            assert (got.headers["content-type"], got.headers["x-run"]) == ("text/event-stream", "1")
            again = await client.post("/", content=echo(), headers=headers)
            assert (again.status_code, again.headers["content-type"]) == (403, "application/json")


class BreakingOff(ToyDoor):
    """Begins a stream and fails in the middle of it."""

    async def answer(self, passage: Passage) -> Answer | Stream:
        head = await passage.settle(Answer(status=200, body=b"data: first\n\n"), about="stream")

        async def events() -> AsyncIterator[SseEvent]:
            yield SseEvent(b"second", "message", None)
            raise ValueError("secret payload")

        return Stream(head=head, events=events())


@pytest.mark.req("GTW-022")
async def test_a_stream_that_fails_ends_and_tells_nothing(
    tmp_path: Path, clock: ManualClock, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Its head is out, so it can only be cut; the log has where it failed, not what it said, the server's too."""
    async with open_gateway(tmp_path, clock=clock) as bench, serving_door(bench, BreakingOff()) as url:
        ada = await bench.issue("ada")
        async with httpx2.AsyncClient(base_url=url) as client:
            with pytest.raises(httpx2.RemoteProtocolError):
                await client.post("/", content=echo(), headers=sign(ada.key, echo(), clock=clock))
    said = capfd.readouterr()
    logged = said.out + said.err + caplog.text
    assert "a door failed" in logged
    assert "secret payload" not in logged
