"""Whatever comes in: the right status, the protocol's own error, a receipt, and nothing half done."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from acp_sdk.models import Error

from sayso.core import strictjson
from sayso.gateway.guard.rules.limits import DEFAULTS
from sayso.proof.hashes import sha256_b64u
from sayso.testing.gateway import sign
from tests.gateway.doors.acp.houses import BASE, House, Said, ask, open_house

pytestmark = pytest.mark.anyio

RUN = strictjson.encode(ask("take-note", {"text": "milk"}))
RUN_ID = "00000000-0000-4000-8000-000000000000"


async def send(
    house: House,
    body: bytes = RUN,
    path: str = "/runs",
    *,
    method: str = "POST",
    signed: bytes | None = None,
    shift_ms: int = 0,
    more: list[tuple[str, str | bytes]] | None = None,
    chunked: bool = False,
) -> Said:
    """One request, signed over `signed` where that is another body than is sent."""
    key, clock = house.ada.key, house.bench.clock
    target = f"{BASE}{path}"
    headers = sign(key, body if signed is None else signed, method, target, clock=clock, shift_ms=shift_ms)

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 1000):
            yield body[start : start + 1000]

    async with httpx.AsyncClient(timeout=None) as http:
        answer = await http.request(
            method, house.url + target, content=pieces() if chunked else body, headers=[*headers.items(), *(more or ())]
        )
    return Said(answer.status_code, answer.headers, answer.content)


async def check(house: House, said: Said, status: int, code: str, protocol: str = "invalid_input") -> None:
    """The error is one that the protocol's own model reads; its receipt has its hash; nothing was proposed or kept."""
    error = Error.model_validate(said.json)
    assert (said.status, error.code, error.data.model_dump()["code"]) == (status, protocol, code)
    assert said.headers["content-type"] == "application/json"
    receipt = (await house.bench.ledger.disclosures())[-1]
    assert (receipt.kind, receipt.output_sha256) == ("crossing.refused", sha256_b64u(said.body))
    assert receipt.body["status"] == status
    assert await house.bench.gate.list() == []


def part(content: bytes) -> bytes:
    """A run whose part's content is written as it is given."""
    return (
        b'{"agent_name":"take-note","input":[{"parts":[{"content_type":"application/json","content":"%s"}]}]}' % content
    )


@pytest.mark.req("GTW-021a", "GTW-022")
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "malformed_json"),
        (b"nope", "malformed_json"),
        (RUN + b"x", "malformed_json"),
        (b"\xef\xbb\xbf" + RUN, "malformed_json"),
        (RUN.replace(b'"mode"', b'"x"') if b'"mode"' in RUN else RUN[:-1] + b',"agent_name":"echo"}', "malformed_json"),
        (RUN[:-1] + b',"mode":NaN}', "malformed_json"),
        (RUN[:-1] + b',"mode":"\xff"}', "malformed_json"),
        (RUN[:-1] + b',"mode":"\\ud800"}', "malformed_json"),
        (RUN[:-1] + b',"mode":1e400}', "malformed_json"),
        (b"[" + RUN + b"]", "schema_invalid"),
        (b"null", "schema_invalid"),
        (RUN[:-1] + b',"mode":"later"}', "schema_invalid"),
        (RUN[:-1] + b',"mode":null}', "schema_invalid"),
        (RUN[:-1] + b',"session_id":"mine"}', "schema_invalid"),
        (RUN[:-1] + b',"session_id":1.5}', "schema_invalid"),
        (RUN[:-1] + b',"more":true}', "schema_invalid"),
        (RUN.replace(b'"user"', b'"admin"'), "schema_invalid"),
        (RUN.replace(b'"user"', b'"agent/a b"'), "schema_invalid"),
        (RUN.replace(b'"user"', b'"user\\n"'), "schema_invalid"),
        (part(rb"{\"text\":NaN}"), "malformed_json"),
        (part(rb"{\"text\":\"a\",\"text\":\"b\"}"), "malformed_json"),
        (part(rb"[]"), "schema_invalid"),
        (part(rb"{\"text\":7}"), "schema_invalid"),
        (part(rb"{\"other\":7}"), "schema_invalid"),
        (RUN.replace(b'"input":[', b'"input":[],"x":['), "schema_invalid"),
        (b'{"agent_name":"take-note","input":[]}', "malformed_request"),
    ],
)
async def test_a_malformed_run_is_400(tmp_path: Path, body: bytes, code: str) -> None:
    """Never 422, never 500; the protocol's own model reads the error."""
    async with open_house(tmp_path) as house:
        await check(house, await send(house, body), 400, code)


@pytest.mark.req("GTW-021", "GTW-022")
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"[" * 4000, "payload_limits"),
        (b'{"a":' * 12 + b"[1]" + b"}" * 12, "payload_limits"),
        (part(b"[" * 4000), "payload_limits"),
        (part(rb"{\"text\":[[[[1]]]]}"), "payload_limits"),
        (part(b'{\\"text\\":\\"' + b"x" * 2001 + b'\\"}'), "payload_limits"),
        (part(b'{\\"' + b"x" * 2001 + b'\\":1}'), "payload_limits"),
        (strictjson.encode(ask("take-note", "é" * 2001)), "payload_limits"),
        (RUN + b" " * 8193, "body_too_large"),
    ],
)
async def test_what_passes_a_limit_is_413(tmp_path: Path, body: bytes, code: str) -> None:
    """Levels and texts count where the act's own data begin, also inside a part's text."""
    async with open_house(tmp_path) as house:
        await check(house, await send(house, body), 413, code)


@pytest.mark.req("GTW-021")
async def test_limits_are_met_exactly(tmp_path: Path) -> None:
    """2,000 characters and four levels pass, and so do 8,192 bytes."""
    async with open_house(tmp_path) as house:
        long = await send(house, strictjson.encode(ask("echo", "é" * 2000)))
        deep = await send(house, strictjson.encode(ask("mirror", {"value": [[[1]]]})))
        full = await send(house, RUN + b" " * (8192 - len(RUN)))
        assert [each.status for each in (long, deep, full)] == [200, 200, 200]


@pytest.mark.req("GTW-021")
async def test_bytes_are_counted_as_they_come(tmp_path: Path) -> None:
    """8,193 of them in chunks, without a length."""
    async with open_house(tmp_path) as house:
        await check(house, await send(house, RUN + b" " * (8193 - len(RUN)), chunked=True), 413, "body_too_large")


@pytest.mark.req("GTW-022", "GTW-013a")
@pytest.mark.parametrize(
    ("more", "code"),
    [
        ([("content-type", "text/xml")], "malformed_request"),
        ([("content-type", "application/json; charset=latin-1")], "malformed_request"),
        ([("content-encoding", "gzip")], "content_encoding_refused"),
        ([("x-osz-agent-key", "osz_other")], "repeated_header"),
        ([("x-osz-signature-v2", b"\xff")], "malformed_header"),
    ],
)
async def test_headers_are_judged_in_its_shape(tmp_path: Path, more: list[tuple[str, str | bytes]], code: str) -> None:
    """A wrong type, a packed body, a header twice, bytes that are no ASCII."""
    async with open_house(tmp_path) as house:
        await check(house, await send(house, more=more), 400, code)


@pytest.mark.req("GTW-004")
@pytest.mark.parametrize(
    "type_", ["application/json", 'application/json; charset="utf-8"', "Application/JSON;charset=UTF-8"]
)
async def test_json_is_json_with_or_without_its_type(tmp_path: Path, type_: str) -> None:
    """The protocol's client names no type."""
    async with open_house(tmp_path) as house:
        assert (await send(house)).status == 200
        assert (await send(house, more=[("content-type", type_)])).status == 200


@pytest.mark.req("GTW-011")
@pytest.mark.parametrize(("shift_ms", "reason"), [(-61_000, "past"), (61_000, "future")])
async def test_a_signature_of_another_time_is_refused(tmp_path: Path, shift_ms: int, reason: str) -> None:
    """Old or too early; it counts, and the answer says how often more."""
    async with open_house(tmp_path) as house:
        said = await send(house, shift_ms=shift_ms)
        await check(house, said, 403, "stale_timestamp")
        assert (said.json["data"]["reason"], said.json["data"]["left"]) == (reason, 4)


@pytest.mark.req("GTW-011", "GTW-012")
async def test_a_signature_is_for_these_bytes_and_once(tmp_path: Path) -> None:
    """A body written anew, the same request again, and the same signature on another path."""
    async with open_house(tmp_path) as house:
        spaced = RUN.replace(b":", b": ")
        await check(house, await send(house, spaced, signed=RUN), 403, "bad_signature")
        headers = sign(house.ada.key, b"", "POST", f"{BASE}/runs/{RUN_ID}/cancel", clock=house.bench.clock)
        async with httpx.AsyncClient(base_url=house.url, headers=headers, timeout=None) as http:
            first = await http.post(f"{BASE}/runs/{RUN_ID}/cancel")
            assert first.status_code == 404
        run = sign(house.ada.key, RUN, "POST", f"{BASE}/runs", clock=house.bench.clock)
        echo = strictjson.encode(ask("echo", "hi"))
        once = sign(house.ada.key, echo, "POST", f"{BASE}/runs", clock=house.bench.clock)
        async with httpx.AsyncClient(base_url=house.url, timeout=None) as http:
            assert (await http.post(f"{BASE}/runs", content=echo, headers=once)).status_code == 200
            again = await http.post(f"{BASE}/runs", content=echo, headers=once)
            elsewhere = await http.post(f"{BASE}/runs/{RUN_ID}", content=echo, headers=once)
            assert (run["X-OSz-Signature"] != once["X-OSz-Signature"]) is True
        for answer in (again, elsewhere):
            said = Said(answer.status_code, answer.headers, answer.content)
            assert (said.status, said.json["data"]["code"]) == (403, "replayed_signature")


@pytest.mark.req("GTW-004", "GTW-022")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("GET", "/"),
        ("GET", "/runs"),
        ("DELETE", f"/runs/{RUN_ID}"),
        ("PUT", "/runs"),
        ("POST", "/ping"),
        ("GET", "/ping/"),
        ("GET", "/agents/Echo"),
        ("GET", f"/RUNS/{RUN_ID}"),
        ("GET", "/runs/1"),
        ("GET", f"/runs/{RUN_ID}0"),
        ("GET", f"/runs/%30{RUN_ID[1:]}"),
        ("GET", f"/runs/{RUN_ID}/../{RUN_ID}"),
        ("GET", f"/sessionss/{RUN_ID}"),
        ("GET", "/%0A"),
        ("GET", f"/runs/{RUN_ID}%0A"),
        ("GET", "/a%0Ab/c"),
    ],
)
async def test_there_is_nothing_at_other_addresses(tmp_path: Path, method: str, path: str) -> None:
    """Refused in the protocol's shape as well."""
    async with open_house(tmp_path) as house:
        code = "unknown_entity" if path.endswith(f"../{RUN_ID}") else "no_such_path"
        await check(house, await send(house, b"", path, method=method), 404, code, "not_found")


@pytest.mark.req("GTW-004")
async def test_a_read_takes_no_body_and_a_cancel_an_empty_one(tmp_path: Path) -> None:
    """What would be ignored is refused."""
    async with open_house(tmp_path) as house:
        await check(house, await send(house, b"{}", "/ping", method="GET"), 400, "malformed_request")
        await check(house, await send(house, b'{"x":1}', f"/runs/{RUN_ID}/cancel"), 400, "malformed_request")
        said = await send(house, b"{}", f"/runs/{RUN_ID}/cancel")
        await check(house, said, 404, "unknown_entity", "not_found")


@pytest.mark.req("GTW-004")
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{}", "schema_invalid"),
        (b'{"await_resume":{"type":"other","message":{"parts":[]}}}', "schema_invalid"),
        (
            b'{"await_resume":{"message":{"parts":[]}},"run_id":"11111111-1111-4111-8111-111111111111"}',
            "schema_invalid",
        ),
        (b'{"await_resume":{"message":{"parts":[]}},"mode":"often"}', "schema_invalid"),
    ],
)
async def test_a_malformed_resume_is_400(tmp_path: Path, body: bytes, code: str) -> None:
    """Before anybody looks which run is meant."""
    async with open_house(tmp_path) as house:
        await check(house, await send(house, body, f"/runs/{RUN_ID}"), 400, code)


@pytest.mark.req("GTW-004", "GTW-030")
async def test_what_is_no_agent_and_no_act_is_not_found(tmp_path: Path) -> None:
    """And a key without the scope may not propose."""
    async with open_house(tmp_path) as house:
        await check(house, await send(house, strictjson.encode(ask("nobody", "x"))), 404, "unknown_entity", "not_found")
        nothing = strictjson.encode(ask("sayso", {"act": "nothing", "arguments": {}}))
        await check(house, await send(house, nothing), 404, "unclassified_act", "not_found")
        eve = await house.bench.issue("eve", frozenset({"acp", "disclose"}))
        refused = await house.caller(eve).run("take-note", "milk")
        assert (refused.status, refused.json["data"]["code"]) == (403, "missing_scope")
        bob = await house.bench.issue("bob", frozenset({"mcp", "disclose"}))
        assert (await house.caller(bob).get("/ping")).json["data"]["code"] == "missing_scope"


@pytest.mark.req("GTW-004", "GTW-020a", "GTW-022")
async def test_who_calls_too_often_is_told_how_long_to_wait(tmp_path: Path) -> None:
    """In the protocol's shape; looking who is there is not charged to the burst, and a retry in time passes."""
    async with open_house(tmp_path, limits=DEFAULTS) as house:
        caller = house.caller()
        assert [(await caller.get(path)).status for path in ("/ping", "/agents", "/agents/echo")] == [200, 200, 200]
        said = [await caller.run("echo", f"number {number}") for number in range(4)]
        assert [each.status for each in said] == [200, 200, 200, 429]
        await check(house, said[-1], 429, "too_many_requests")
        assert said[-1].headers.get_list("retry-after") == [str(said[-1].json["data"]["retry_after"])] == ["1"]
        house.bench.clock.advance(timedelta(seconds=1))
        assert (await caller.run("echo", "later")).status == 200
