"""The door over a real socket, said exactly: revisions, sessions, refusals (wire facts 1 to 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from sayso.core.clock import ManualClock
from sayso.core.gcra import Limit
from sayso.core.refusal import Refused
from sayso.gateway.crossing import Agent
from sayso.gateway.doors.mcp.endpoint import MESSAGE_PATH
from sayso.gateway.doors.mcp.read.revisions import (
    CAPABILITIES_KEY,
    LEGACY,
    MODERN,
    SERVED,
    SERVER_INFO_KEY,
    VERSION_KEY,
)
from sayso.gateway.doors.mcp.shown import unknown_resource
from sayso.gateway.guard.rules.limits import DEFAULTS, Limits
from sayso.gateway.surface import UNKNOWN_PROMPT, Contents, Prompt, PromptText, Readable, Template
from sayso.testing.gateway import sign
from sayso.testing.store import START
from tests.gateway.doors.mcp.speaking import OFTEN, UNHURRIED, Speaker, receipts_of, request, speaking

pytestmark = pytest.mark.anyio


def error_of(answer: Any) -> tuple[int, int, Any]:
    """HTTP status, JSON-RPC number, id."""
    said = answer.json()
    assert said["jsonrpc"] == "2.0"
    assert "result" not in said, said
    return answer.status_code, said["error"]["code"], said["id"]


# -- the handshake


@pytest.mark.req("GTW-001")
@pytest.mark.parametrize(
    ("asked", "agreed"),
    [(version, version) for version in LEGACY] + [("1900-01-01", "2025-11-25"), (MODERN, "2025-11-25")],
)
async def test_initialize_opens_a_session_in_a_revision_we_speak(tmp_path: Path, asked: str, agreed: str) -> None:
    """The one asked for, or the newest legacy one: never an error, never the modern one."""
    async with speaking(tmp_path) as (ada,):
        answer = await ada.say(request("initialize", {"protocolVersion": asked, "capabilities": {}}, "first"))
        said = answer.json()
        assert (answer.status_code, said["id"], said["result"]["protocolVersion"]) == (200, "first", agreed)
        assert said["result"]["serverInfo"]["name"] == "sayso"
        assert set(said["result"]["capabilities"]) == {"tools", "resources", "prompts", "completions"}
        session = answer.headers["mcp-session-id"]
        assert len(session) >= 32
        assert session.isascii()
        assert session.isprintable()


@pytest.mark.req("GTW-002")
async def test_without_a_session_nothing_but_initialize_is_answered(tmp_path: Path) -> None:
    """No id: 400. An unknown one: 404. A deleted one: 404."""
    async with speaking(tmp_path) as (ada,):
        assert error_of(await ada.say(request("ping"))) == (400, 40022, 1)
        assert error_of(await ada.ask("A" * 32, "ping")) == (404, 40421, 1)
        session = await ada.open()
        assert (await ada.ask(session, "ping")).json() == {"jsonrpc": "2.0", "id": 1, "result": {}}
        ended = await ada.send("DELETE", mcp_session_id=session)
        assert (ended.status_code, ended.content) == (204, b"")
        assert error_of(await ada.ask(session, "ping")) == (404, 40421, 1)
        assert error_of(await ada.send("DELETE", mcp_session_id=session)) == (404, 40421, None)


@pytest.mark.req("GTW-002")
async def test_another_agents_session_is_no_session(tmp_path: Path) -> None:
    """The same answer, byte for byte, as for one that never was; and the owner's goes on."""
    async with speaking(tmp_path, "ada", "eve") as (ada, eve):
        session = await ada.open()
        foreign, none = await eve.ask(session, "ping"), await eve.ask("A" * 32, "ping")
        assert (foreign.status_code, foreign.content) == (none.status_code, none.content)
        assert (await eve.send("DELETE", mcp_session_id=session)).status_code == 404
        assert (await eve.send("GET", accept="text/event-stream", mcp_session_id=session)).status_code == 404
        assert (await ada.ask(session, "ping")).status_code == 200


@pytest.mark.req("GTW-002")
async def test_a_notification_is_accepted_with_no_body(tmp_path: Path) -> None:
    """202, in either era; so is an answer that nobody waits for; and calls go on if `initialized` was lost."""
    async with speaking(tmp_path) as (ada,):
        session = await ada.open()
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        for message in (told, {"jsonrpc": "2.0", "id": 1, "result": {}}):
            answer = await ada.say(message, mcp_session_id=session)
            assert (answer.status_code, answer.content) == (202, b"")
        modern = await ada.say(told, mcp_protocol_version=MODERN)
        assert (modern.status_code, modern.content) == (202, b"")
        lost = await ada.open()
        assert (await ada.ask(lost, "tools/list")).status_code == 200


@pytest.mark.req("GTW-002")
async def test_methods_belong_to_their_era(tmp_path: Path) -> None:
    """An unknown method is 200 with -32601 in a session, where 404 means that the session is gone; modern it is 404."""
    async with speaking(tmp_path) as (ada,):
        session = await ada.open()
        for method in ("server/discover", "subscriptions/listen", "nope", "logging/setLevel"):
            assert error_of(await ada.ask(session, method)) == (200, -32601, 1)
        for method in ("initialize", "ping", "resources/subscribe", "nope"):
            assert error_of(await ada.modern(method)) == (404, -32601, 1)


@pytest.mark.req("GTW-002")
async def test_discover_says_what_there_is(tmp_path: Path) -> None:
    """Revisions, capabilities, freshness; private, because it is about one agent."""
    async with speaking(tmp_path) as (ada,):
        result = (await ada.modern("server/discover")).json()["result"]
        assert result["supportedVersions"] == list(SERVED)
        assert (result["resultType"], result["cacheScope"]) == ("complete", "private")
        assert isinstance(result["ttlMs"], int)
        assert result["ttlMs"] >= 0
        assert result["_meta"][SERVER_INFO_KEY]["name"] == "sayso"


@pytest.mark.req("GTW-002")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", {}), ("resources/list", {}), ("resources/templates/list", {}), ("prompts/list", {}),
        ("resources/read", {"uri": "osz://constitution"}),
    ],
)  # fmt: skip
async def test_what_can_be_cached_says_for_how_long_and_for_whom(tmp_path: Path, method: str, params: Any) -> None:
    """Modern results alone; a legacy result has none of it."""
    async with speaking(tmp_path) as (ada,):
        modern = (await ada.modern(method, params)).json()["result"]
        assert (modern["resultType"], modern["cacheScope"]) == ("complete", "private")
        assert modern["ttlMs"] >= 0
        legacy = (await ada.ask(await ada.open(), method, params)).json()["result"]
        assert not legacy.keys() & {"resultType", "cacheScope", "ttlMs", "_meta"}


@pytest.mark.req("GTW-002")
async def test_headers_of_a_modern_request_are_compared(tmp_path: Path) -> None:
    """-32020 under 400; white space around a value is none of it; base64 is decoded first."""
    async with speaking(tmp_path) as (ada,):
        call = {"name": "echo", "arguments": {"text": "hi"}}
        for changed in ({"mcp_method": None}, {"mcp_method": "tools/List"}, {"mcp_name": None}, {"mcp_name": "mirror"},
                        {"mcp_protocol_version": None}, {"mcp_protocol_version": "2025-11-25"}):  # fmt: skip
            assert error_of(await ada.modern("tools/call", call, **changed)) == (400, -32020, 1)
        good = await ada.modern("tools/call", call, mcp_name="=?base64?ZWNobw==?=")
        assert good.json()["result"]["structuredContent"] == {"text": "hi"}


@pytest.mark.req("GTW-002")
async def test_a_modern_request_lacks_nothing(tmp_path: Path) -> None:
    """-32602 for metadata, -32022 for the revision with those served; clientInfo is not required."""
    async with speaking(tmp_path) as (ada,):
        assert error_of(await ada.modern("tools/list", meta={VERSION_KEY: MODERN})) == (400, -32602, 1)
        meta = {VERSION_KEY: "2099-01-01", CAPABILITIES_KEY: {}}
        answer = await ada.modern("tools/list", meta=meta, mcp_protocol_version="2099-01-01")
        assert error_of(answer) == (400, -32022, 1)
        data = answer.json()["error"]["data"]
        assert (data["supported"], data["requested"]) == (list(SERVED), "2099-01-01")
        assert (await ada.modern("tools/list")).status_code == 200


@pytest.mark.req("GTW-002")
async def test_a_session_header_with_an_unknown_revision_is_refused(tmp_path: Path) -> None:
    """400 whatever the session agreed on; a missing header is the oldest revision's right."""
    async with speaking(tmp_path) as (ada,):
        session = await ada.open("2025-03-26")
        answer = await ada.say(request("ping"), mcp_session_id=session, mcp_protocol_version="1999-01-01")
        assert error_of(answer)[:2] == (400, -32022)
        for method in ("DELETE", "GET"):
            answer = await ada.send(method, mcp_session_id=session, mcp_protocol_version="1999-01-01")
            assert error_of(answer) == (400, -32022, None)
            data = answer.json()["error"]["data"]
            assert (data["supported"], data["requested"]) == (list(SERVED), "1999-01-01")
        assert (await ada.ask(session, "ping")).status_code == 200


@pytest.mark.req("GTW-002")
async def test_a_modern_client_gets_no_stream_and_no_session(tmp_path: Path) -> None:
    """GET and DELETE are 405, PUT is for everybody, and a GET that takes no stream is 405 too."""
    async with speaking(tmp_path) as (ada,):
        session = await ada.open()
        for method in ("GET", "DELETE"):
            answer = await ada.send(method, mcp_protocol_version=MODERN, mcp_session_id=session)
            assert error_of(answer) == (405, 40501, None)
            assert answer.headers["allow"] == "POST"
        put = await ada.send("PUT", b"{}", mcp_session_id=session)
        assert (put.status_code, put.headers["allow"]) == (405, "GET, POST, DELETE")
        assert (await ada.send("GET", accept="application/json", mcp_session_id=session)).status_code == 405
        answer = await ada.modern("tools/list", mcp_session_id="A" * 32, last_event_id="get-3")
        assert answer.status_code == 200
        assert "mcp-session-id" not in answer.headers


# -- batches


@pytest.mark.req("GTW-002", "GTW-020a")
async def test_a_batch_is_answered_as_one(tmp_path: Path) -> None:
    """Each request in its place, notifications not at all, one receipt and one settlement for all."""
    async with speaking(tmp_path) as (ada,):
        session = await ada.open("2025-03-26")
        messages = [
            request("ping", id_="a"),
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
            request("tools/call", {"name": "echo", "arguments": {"text": "hi"}}, 2),
            request("tools/call", {"name": "nope"}, 3),
            {"jsonrpc": "2.0", "id": None, "method": "ping"},
            request("initialize", {"protocolVersion": "2025-03-26"}, 5),
        ]
        answer = await ada.say(messages, mcp_session_id=session)
        assert answer.status_code == 200
        assert [(each["id"], each.get("error", {}).get("code")) for each in answer.json()] == [
            ("a", None), (2, None), (3, -32602), (None, -32600), (5, -32600),
        ]  # fmt: skip
        silent = await ada.say([messages[1]], mcp_session_id=session)
        assert (silent.status_code, silent.content) == (202, b"")


@pytest.mark.req("GTW-002", "GTW-021a")
@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
async def test_later_revisions_have_no_batches(tmp_path: Path, version: str) -> None:
    """-32600, with the header and without it."""
    async with speaking(tmp_path) as (ada,):
        session = await ada.open(version)
        for header in (None, version):
            answer = await ada.say([request("ping")], mcp_session_id=session, mcp_protocol_version=header)
            assert error_of(answer) == (400, -32600, None)


@pytest.mark.req("GTW-020", "GTW-020a")
async def test_a_batch_is_no_way_around_the_rate(tmp_path: Path) -> None:
    """It is charged for each call in it, and what no burst holds is refused whole."""
    limits = Limits(minute=OFTEN, second=DEFAULTS.second, coarse=OFTEN)
    async with speaking(tmp_path, limits=limits) as (ada,):
        session = await ada.open("2025-03-26")

        def calls(count: int, start: int) -> list[Any]:
            echo = {"name": "echo", "arguments": {"text": "hi"}}
            return [request("tools/call", echo, start + number) for number in range(count)]

        assert error_of(await ada.say(calls(4, 1), mcp_session_id=session)) == (400, 40008, None)
        assert (await ada.say(calls(3, 11), mcp_session_id=session)).status_code == 200
        assert error_of(await ada.say(calls(1, 21), mcp_session_id=session))[:2] == (429, 42901)


# -- rates


@pytest.mark.req("GTW-020a")
async def test_an_official_clients_first_second_fits(tmp_path: Path) -> None:
    """Handshake, notification and lists take nothing of a burst of three; the fourth call is told when to come back."""
    limits = Limits(coarse=OFTEN)
    async with speaking(tmp_path, limits=limits) as (ada,):
        session = await ada.open()
        await ada.say({"jsonrpc": "2.0", "method": "notifications/initialized"}, mcp_session_id=session)
        for method in ("tools/list", "resources/list", "prompts/list", "ping"):
            assert (await ada.ask(session, method)).status_code == 200
        echo = {"name": "echo", "arguments": {"text": "hi"}}
        for number in range(3):
            assert (await ada.ask(session, "tools/call", echo, number)).status_code == 200
        refused = await ada.ask(session, "tools/call", echo, "fourth")
        assert error_of(refused) == (429, 42901, "fourth")
        assert int(refused.headers["retry-after"]) >= 1


class Slow:
    """A surface that takes ten seconds to say what it has."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def resources(self) -> Sequence[Readable]:
        self._clock.advance(timedelta(seconds=10))
        return ()

    def templates(self) -> Sequence[Template]:
        return ()

    async def read(self, uri: str, _agent: Agent) -> Contents:
        raise unknown_resource(uri)

    def prompts(self) -> Sequence[Prompt]:
        return ()

    async def prompt(self, name: str, _arguments: Mapping[str, str]) -> PromptText:
        raise Refused.because(UNKNOWN_PROMPT, name)


@pytest.mark.req("GTW-020", "GTW-022")
async def test_a_call_that_the_rate_refused_is_never_answered_as_a_tool(tmp_path: Path) -> None:
    """Not even where there is room again by the time the batch is settled: a denial is no result."""
    clock = ManualClock(START)
    limits = Limits(minute=OFTEN, second=Limit(timedelta(seconds=1), 4), coarse=OFTEN)
    async with speaking(tmp_path, limits=limits, clock=clock, surfaces=[Slow(clock)]) as (ada,):
        session = await ada.open("2025-03-26")
        echo = {"name": "echo", "arguments": {"text": "hi"}}
        for number in range(2):
            assert (await ada.ask(session, "tools/call", echo, number)).status_code == 200
        calls = [request("tools/call", echo, number) for number in range(10, 13)]
        batch = [*calls, request("resources/list", {}, 13)]
        assert error_of(await ada.say(batch, mcp_session_id=session)) == (429, 42901, None)
        clock.advance(timedelta(seconds=10))
        assert (await ada.say([*batch[:2], batch[3]], mcp_session_id=session)).status_code == 200


# -- bad input

MALFORMED: list[tuple[bytes, int]] = [
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
    (b'[]', -32600),
    (b'"text"', -32600),
    (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700),
    (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}', -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"', -32700),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1e999}}', -32700),
    (b"", -32700),
]  # fmt: skip


@pytest.mark.req("GTW-021a", "GTW-022", "GTW-050")
@pytest.mark.parametrize("version", [None, MODERN])
async def test_bad_bodies_are_told_what_they_are(tmp_path: Path, version: str | None) -> None:
    """400 with JSON-RPC's own number and no id; each receipted; and the agent is not suspended by any of them."""
    async with speaking(tmp_path) as (ada,):
        session = await ada.open()
        for body, number in MALFORMED:
            before = len(await receipts_of(ada.bench))
            answer = await ada.send("POST", body, mcp_session_id=session, mcp_protocol_version=version)
            assert error_of(answer) == (400, number, None), body
            assert len(await receipts_of(ada.bench)) == before + 1
        assert (await ada.ask(session, "ping")).status_code == 200


@pytest.mark.req("GTW-021", "GTW-021a")
@pytest.mark.parametrize(
    ("body", "number", "id_"),
    [
        (b"[" * 4000, 41302, None),
        (orjson.dumps(request("tools/call", {"name": "echo", "arguments": {"text": "x" * 2001}}, "a")), 41302, "a"),
        (orjson.dumps(request("tools/call", {"name": "mirror", "arguments": {"value": [[[[1]]]]}}, 8)), 41302, 8),
        (orjson.dumps(request("resources/read", {"uri": "u" * 2001}, 9)), 41302, 9),
        (b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * 8200 + b'"}', 41301, None),
    ],
)  # fmt: skip
async def test_limits_are_a_413_with_the_id_where_it_can_be_read(
    tmp_path: Path, body: bytes, number: int, id_: object
) -> None:
    """Depth of the envelope and of the payload, length of a text, size of the body."""
    async with speaking(tmp_path) as (ada,):
        session = await ada.open()
        assert error_of(await ada.send("POST", body, mcp_session_id=session)) == (413, number, id_)


@pytest.mark.req("GTW-021a", "GTW-014")
async def test_a_stranger_is_refused_in_the_doors_shape(tmp_path: Path) -> None:
    """No key, a wrong key, a body changed after it was signed: JSON-RPC errors of ours, with the id."""
    async with speaking(tmp_path) as (ada,):
        body = orjson.dumps(request("ping", id_="mine"))
        plain = {"content-type": "application/json"}
        unsigned = await ada.http.post(ada.url, content=body, headers=plain)
        assert error_of(unsigned) == (401, 40101, "mine")
        wrong = sign("osz_" + "A" * 43, body, "POST", MESSAGE_PATH, clock=ada.bench.clock)
        assert error_of(await ada.http.post(ada.url, content=body, headers={**plain, **wrong})) == (401, 40102, "mine")
        signed = sign(ada.key, body, "POST", MESSAGE_PATH, clock=ada.bench.clock)
        spaced = body.replace(b",", b", ")
        answer = await ada.http.post(ada.url, content=spaced, headers={**plain, **signed})
        assert error_of(answer) == (403, 40302, "mine")


@pytest.mark.req("GTW-021a")
async def test_media_types_are_judged(tmp_path: Path) -> None:
    """Another Content-Type is no request; an Accept without JSON gets nothing it could read."""
    async with speaking(tmp_path) as (ada,):
        assert error_of(await ada.say(request("ping"), content_type="text/plain"))[:2] == (400, -32600)
        assert error_of(await ada.say(request("ping"), accept="text/html"))[:2] == (406, 40601)
        assert (
            await ada.say(request("initialize", {"protocolVersion": "2025-06-18"}), accept="*/*")
        ).status_code == 200


@pytest.mark.req("GTW-021a")
async def test_headers_that_stand_twice_are_refused(tmp_path: Path) -> None:
    """Nobody guesses which of two is meant."""
    async with speaking(tmp_path) as (ada,):
        body = orjson.dumps(request("ping"))
        signed = sign(ada.key, body, "POST", MESSAGE_PATH, clock=ada.bench.clock)
        for name in ("Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Method", "X-OSz-Signature"):
            headers = [*signed.items(), ("Content-Type", "application/json"), (name, "a"), (name, "b")]
            answer = await ada.http.post(ada.url, content=body, headers=headers)
            assert error_of(answer)[:2] == (400, 40001), name


async def speak(ada: Speaker, method: str, params: Any, version: str) -> Any:
    """One request in a revision, of either era; the whole answer."""
    if version == MODERN:
        return await ada.modern(method, params)
    return await ada.ask(await ada.open(version), method, params)


@pytest.mark.req("GTW-021a", "GTW-022")
@pytest.mark.parametrize("version", [*LEGACY, MODERN])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {}), ("tools/call", {"name": 3}), ("tools/call", {"name": "echo", "arguments": []}),
        ("tools/call", {"name": "nope"}), ("resources/read", {}), ("prompts/get", {"name": "nope"}),
        ("prompts/get", {"name": "test_prompt_with_arguments", "arguments": {"arg1": "a"}}),
        ("prompts/get", {"name": "test_simple_prompt", "arguments": {"arg1": 1}}),
        ("prompts/get", {"name": "test_prompt_with_arguments", "arguments": {"arg1": "a\0b", "arg2": "b"}}),
        ("resources/read", {"uri": "osz://proposals/a\0b"}), ("resources/read", {"uri": "osz://dömains"}),
        ("resources/read", {"uri": ""}),
        ("tools/list", {"cursor": "guess"}), ("tools/list", {"cursor": ""}), ("tools/list", {"cursor": "cDEwMA=="}),
        ("completion/complete", {"ref": {}}),
    ],
)  # fmt: skip
async def test_params_that_do_not_fit_are_invalid(tmp_path: Path, method: str, params: Any, version: str) -> None:
    """-32602, under 200 in a session and 400 without one; an unknown tool or prompt is one of them, never a 404."""
    async with speaking(tmp_path) as (ada,):
        answer = await speak(ada, method, params, version)
        assert error_of(answer) == (400 if version == MODERN else 200, -32602, 1)


@pytest.mark.req("GTW-041")
@pytest.mark.parametrize(("version", "number"), [*[(each, -32002) for each in LEGACY], (MODERN, -32602)])
async def test_a_resource_that_is_not_there_is_an_error(tmp_path: Path, version: str, number: int) -> None:
    """Never an empty list; the number is the revision's."""
    async with speaking(tmp_path) as (ada,):
        answer = await speak(ada, "resources/read", {"uri": "osz://nothing"}, version)
        assert error_of(answer)[1] == number
        assert answer.json()["error"]["data"]["uri"] == "osz://nothing"


async def test_the_rates_of_these_tests_are_no_limit() -> None:
    """What is refused above is refused for its own reason."""
    assert UNHURRIED.second.burst > 1000
