"""What no client should send: the right status, A2A's own error shape, a receipt, never a 500, nothing half-applied."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from sayso.core.gcra import Limit
from sayso.gateway.doors.a2a.routes import CARDS
from sayso.gateway.guard.rules.limits import Limits
from sayso.governance.acts import Act, ActClass, Registry, Repeats
from sayso.governance.consent import Consent
from sayso.proof.hashes import sha256_b64u
from sayso.testing.gateway import sign
from sayso.testing.routes import public_paths, ungoverned
from tests.gateway.doors.a2a.house import BASE, House, data, open_house
from tests.gateway.wire import Got, call

pytestmark = pytest.mark.anyio


def request(params: Any = None, method: str = "SendMessage", **more: Any) -> bytes:
    """A JSON-RPC request; `more` replaces members."""
    whole = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params or data("take_note", text="milk")}
    return json.dumps(whole | more).encode()


async def knock(
    house: House, body: bytes, *more: tuple[str | bytes, str | bytes], target: str = BASE, **kw: Any
) -> Got:
    """One signed raw request in 1.0."""
    clock = house.bench.clock
    headers = [*sign(await house.key(), body, "POST", target, clock=clock).items(), ("a2a-version", "1.0")]
    return await call(house.url, body, [*headers, *more], target=target, **kw)


async def judged(house: House, got: Got, status: int, number: int, id_: Any) -> None:
    """The answer is a JSON-RPC error of that number, and the last receipt is of a refusal; nothing was proposed."""
    assert got.status == status, got
    assert got.json["jsonrpc"] == "2.0"
    assert got.json["id"] == id_
    assert type(got.json["id"]) is type(id_)
    assert got.json["error"]["code"] == number
    assert "result" not in got.json
    last = (await house.receipts())[-1]
    assert (last.kind, last.body["door"], last.body["status"]) == ("crossing.refused", "a2a", status)
    assert await house.bench.gate.list() == []


@pytest.mark.parametrize("id_", [None, 1.5, True, {}, [], "x" * 257])
@pytest.mark.req("GTW-021a")
async def test_an_id_that_is_none_is_an_invalid_request(house: House, id_: Any) -> None:
    """Answered under a null id, since it cannot be repeated."""
    await judged(house, await knock(house, request(id=id_)), 400, -32600, None)


@pytest.mark.req("GTW-021a")
async def test_a_request_without_an_id_is_no_notification(house: House) -> None:
    """A2A has none, so nothing is done, and never a 202."""
    body = json.dumps({"jsonrpc": "2.0", "method": "SendMessage", "params": data("take_note", text="milk")}).encode()
    await judged(house, await knock(house, body), 400, -32600, None)


@pytest.mark.parametrize("id_", [1, 0, -5, "1", "", "\u00e9"])
@pytest.mark.req("GTW-021a")
async def test_an_id_comes_back_with_its_type(house: House, id_: Any) -> None:
    """1 is not "1"."""
    got = await knock(house, request(id=id_, method="GetTask", params={"id": "nobodys"}))
    await judged(house, got, 200, -32001, id_)


@pytest.mark.parametrize(
    ("body", "number", "id_"),
    [
        (b"", -32700, None),
        (b"{", -32700, None),
        (b"[" + request() + b"]", -32600, None),
        (b"[]", -32600, None),
        (b'"hi"', -32600, None),
        (b"null", -32600, None),
        (request(jsonrpc="1.0"), -32600, 7),
        (request(method=5), -32600, 7),
        (request().replace(b'"milk"', b"NaN"), -32700, None),
        (request().replace(b'"milk"', b"1e999"), -32700, None),
        (request().replace(b'"milk"', b"99999999999999999999"), -32700, None),
        (request().replace(b'"id": 7', b'"id": 7, "id": 8'), -32700, None),
        (request().replace(b'"text": "milk"', b'"text": "milk", "te\\u0078t": "beer"'), -32700, None),
        (request().replace(b"milk", b"\xff\xfe"), -32700, None),
        (request().replace(b"milk", b"\\ud800"), -32700, None),
        (b"\xef\xbb\xbf" + request(), -32700, None),
        (request() + b"x", -32700, None),
    ],
)
@pytest.mark.req("GTW-021a", "GTW-022")
async def test_what_is_no_json_rpc_request_is_a_400(house: House, body: bytes, number: int, id_: Any) -> None:
    """The client's fault, in JSON-RPC's shape, with the id where one could be read."""
    await judged(house, await knock(house, body), 400, number, id_)


@pytest.mark.req("GTW-021")
async def test_four_thousand_brackets_are_refused_before_parsing(house: House) -> None:
    """By the bound of the envelope."""
    await judged(house, await knock(house, b"[" * 4000), 413, 41302, None)


@pytest.mark.parametrize(
    "params",
    [
        data("take_note", text="x" * 2001),
        data("take_note", **{"y" * 2001: 1}),
        data("mirror", value=[[[1]]]),
        {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x" * 2001}]}},
    ],
)
@pytest.mark.req("GTW-021")
async def test_the_payload_is_measured_from_each_parts_data(house: House, params: Any) -> None:
    """2,000 code points and 4 levels, data itself the first."""
    await judged(house, await knock(house, request(params)), 413, 41302, 7)


@pytest.mark.req("GTW-021")
async def test_what_keeps_to_the_payloads_limits_passes(house: House) -> None:
    """Exactly 2,000 code points and exactly 4 levels."""
    got = await knock(house, request(data("mirror", value=[[1]])))
    assert got.json["result"]["task"]["artifacts"][0]["parts"][0]["data"] == {"value": [[1]]}
    got = await knock(house, request(data("echo", text="x" * 2000)))
    assert got.json["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.req("GTW-021")
async def test_8193_bytes_without_a_length_are_cut_off(house: House) -> None:
    """Counted as they come."""
    body = b" " * 8193
    got = await knock(house, body, chunks=[body[:4096], body[4096:]])
    await judged(house, got, 413, 41301, None)


@pytest.mark.parametrize("name", ["x-osz-agent-key", "x-osz-timestamp", "x-osz-signature", "a2a-version"])
@pytest.mark.req("GTW-013a")
async def test_a_repeated_header_is_refused(house: House, name: str) -> None:
    """Never guessed which one counts."""
    await judged(house, await knock(house, request(), (name, "1.0")), 400, 40001, None)


@pytest.mark.req("GTW-013a")
async def test_a_header_that_is_not_ascii_is_refused(house: House) -> None:
    """Without a traceback."""
    body = request()
    headers = sign(await house.key(), body, "POST", BASE, clock=house.bench.clock)
    headers.pop("X-OSz-Signature")
    pairs = [*headers.items(), ("X-OSz-Signature", b"\xe9" * 64)]
    await judged(house, await call(house.url, body, pairs, target=BASE), 400, 40002, 7)


@pytest.mark.parametrize("shift", [-61_000, 61_000])
@pytest.mark.req("GTW-011")
async def test_a_signature_of_another_minute_is_refused(house: House, shift: int) -> None:
    """Stale or ahead."""
    body = request()
    headers = sign(await house.key(), body, "POST", BASE, clock=house.bench.clock, shift_ms=shift)
    await judged(house, await call(house.url, body, headers, target=BASE), 403, 40303, 7)


@pytest.mark.req("GTW-011")
async def test_a_body_that_was_written_again_is_not_the_signed_one(house: House) -> None:
    """The same JSON with other spaces."""
    body = request()
    headers = sign(await house.key(), body, "POST", BASE, clock=house.bench.clock)
    again = json.dumps(json.loads(body), separators=(",", ":")).encode()
    await judged(house, await call(house.url, again, headers, target=BASE), 403, 40302, 7)


@pytest.mark.req("GTW-012")
async def test_a_signature_serves_once_on_any_path(house: House) -> None:
    """The same bytes again, and the same bytes at another address of the door."""
    body = json.dumps(data("echo", text="hi")).encode()
    headers = {**sign(await house.key(), body, "POST", BASE, clock=house.bench.clock), "a2a-version": "1.0"}
    first = await call(house.url, body, headers, target=f"{BASE}/message:send")
    assert first.status == 200
    again = await call(house.url, body, headers, target=f"{BASE}/message:stream")
    assert again.status == 403
    assert again.json["error"]["details"][0]["reason"] == "REPLAYED_SIGNATURE"
    assert again.json["error"]["status"] == "PERMISSION_DENIED"


@pytest.mark.req("GTW-014", "GTW-021a")
async def test_no_key_is_401_in_json_rpcs_shape(house: House) -> None:
    """With the request's id."""
    got = await call(house.url, request(), {"a2a-version": "1.0"}, target=BASE)
    await judged(house, got, 401, 40101, 7)


@pytest.mark.req("GTW-014")
async def test_a_key_without_the_scope_opens_another_door(house: House) -> None:
    """403 missing_scope."""
    issued = await house.bench.issue("mcponly", scopes=frozenset({"mcp", "disclose"}))
    body = request()
    headers = sign(issued.key, body, "POST", BASE, clock=house.bench.clock)
    await judged(house, await call(house.url, body, headers, target=BASE), 403, 40307, 7)


@pytest.mark.req("GTW-020", "GTW-022")
async def test_too_many_requests_are_a_429_with_when_to_come_again(tmp_path: Path) -> None:
    """A denial in the door's shape, and nothing of it is kept."""
    tight = Limits(minute=Limit(timedelta(minutes=1), 1), coarse=Limit(timedelta(seconds=1), 50))
    async with open_house(tmp_path, limits=tight) as house:
        assert (await knock(house, request())).status == 200
        got = await knock(house, request(data("take_note", text="beer")))
        assert (got.status, got.json["error"]["code"], got.json["id"]) == (429, 42901, 7)
        assert int(got.headers["retry-after"]) >= 1
        assert len(await house.bench.gate.list()) == 1


@pytest.mark.req("GTW-021a")
async def test_an_origin_is_refused_in_json_rpcs_shape(house: House) -> None:
    """A web page does not call."""
    await judged(house, await knock(house, request(), ("origin", "https://evil.example")), 403, 40309, None)


@pytest.mark.req("GTW-021a")
async def test_a_body_of_another_type_is_refused(house: House) -> None:
    """It is JSON, or it is not read."""
    got = await knock(house, request(), ("content-type", "text/plain"))
    await judged(house, got, 200, -32005, 7)


@pytest.mark.req("GTW-050")
async def test_a_refusal_is_receipted_with_what_went_out(house: House) -> None:
    """The hashes are of the bytes received and sent."""
    body = request(method="GetTask", params={"id": "nobodys"})
    got = await knock(house, body)
    last = (await house.receipts())[-1]
    assert (last.inputs_sha256, last.output_sha256) == (sha256_b64u(body), sha256_b64u(got.body))
    assert last.actor == house.keys["ada"].agent.id


class Account(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments that no agent may send."""

    password: str


def register_account(registry: Registry) -> None:
    """A disclosure and an execution with arguments that the constitution forbids."""

    async def run(_arguments: Account, _consent: Consent | None) -> Mapping[str, Any]:
        raise AssertionError("it is never run")

    for name, act_class in (("look_up", ActClass.DISCLOSURE), ("log_in", ActClass.EXECUTION)):
        act = Act(
            name=name, act_class=act_class, title=name, description=name, arguments=Account, touches_others=False,
            repeats=Repeats.IDEMPOTENT if act_class is ActClass.EXECUTION else None,
        )  # fmt: skip
        registry.register(act, run)


@pytest.mark.parametrize("path", ["/x%0Ay", "/%ff", "/tasks/%00", "/tasks/%E2%82", "/tasks/a%2Fb", "//", "/v1/", "/.."])
@pytest.mark.req("GTW-007", "GTW-022")
async def test_a_strange_path_is_the_doors_to_refuse(house: House, path: str) -> None:
    """With a receipt, in its shape, and never past the guard."""
    headers = {**sign(await house.key(), method="GET", clock=house.bench.clock), "a2a-version": "1.0"}
    got = await call(house.url, headers=headers, method="GET", target=BASE + path)
    assert got.status in (400, 404)
    assert "error" in got.json or got.json["type"]
    assert (await house.receipts())[-1].kind == "crossing.refused"
    assert (await call(house.url, method="GET", target=BASE + path)).status == 401


@pytest.mark.req("GTW-007")
async def test_every_route_is_guarded_or_says_why_not(house: House) -> None:
    """Only the cards are public."""
    routes = house.a2a.routes()
    assert ungoverned(routes) == []
    assert set(public_paths(routes)) == set(CARDS)


@pytest.mark.req("GTW-031")
async def test_the_constitutions_no_names_its_article(tmp_path: Path) -> None:
    """To a disclosure it is a denial with 403; to a proposal a rejected task, which the Gate keeps."""
    async with open_house(tmp_path, register=register_account) as house:
        got = await knock(house, request(data("look_up", password="x")))
        await judged(house, got, 403, 40308, 7)
        assert got.json["error"]["data"][0]["metadata"]["article"] == "VIII"
        got = await knock(house, request(data("log_in", password="x")))
        status = got.json["result"]["task"]["status"]
        assert (got.status, status["state"]) == (200, "TASK_STATE_REJECTED")
        (kept,) = await house.bench.gate.list()
        assert (kept.state.value, kept.article) == ("refused_by_constitution", "VIII")


@pytest.mark.req("GTW-012", "GTW-053")
async def test_the_same_signed_request_twice_at_once_is_one_proposal(house: House) -> None:
    """One answer is the task, the other a denial."""
    body = request()
    headers = [*sign(await house.key(), body, "POST", BASE, clock=house.bench.clock).items(), ("a2a-version", "1.0")]
    got: list[Got] = []

    async def once() -> None:
        got.append(await call(house.url, body, headers, target=BASE))

    async with anyio.create_task_group() as group:
        group.start_soon(once)
        group.start_soon(once)
    assert sorted(each.status for each in got) == [200, 403]
    assert len(await house.bench.gate.list()) == 1
    assert (await house.rpc("ListTasks", {}))["result"]["totalSize"] == 1
