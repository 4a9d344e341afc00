"""Servers over streamable HTTP: the official SDK's in a process of its own, and one of ours that misbehaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from sayso.control.loop.contract import ToolAnswer, ToolAsks, ToolDone
from sayso.control.mcp_sources.limits import Operator
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from tests.control.mcp_sources.opening import called, listening, opened, place, result_of
from tests.control.mcp_sources.raw_http import misbehaving

pytestmark = pytest.mark.anyio


@pytest.mark.req("OAP-156", "OAP-061")
@pytest.mark.parametrize("way", ["http", "http-json"])
async def test_the_official_server_is_listed_and_called(way: str, tmp_path: Path) -> None:
    """Answers as JSON and as event streams; a cancelled call ends at the server; the session ends with ours."""
    async with listening(way) as url, opened(place(url)) as source:
        assert len(source.tools()) == 14
        assert await result_of(source, "add", a=2, b=3) == "5"
        assert await result_of(source, "table") == {"rows": [1, 2, {"three": None}]}
        note = tmp_path / "note"
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lambda: result_of(source, "slow", note=str(note)))
                while not note.with_suffix(".begun").exists():
                    await result_of(source, "nothing")
                tasks.cancel_scope.cancel()
            while not note.exists():
                await result_of(source, "nothing")


@pytest.mark.req("OAP-156")
async def test_the_official_server_may_ask_us_for_nothing_and_tells_of_changes() -> None:
    """Over the streams it answers on."""
    async with listening("http") as url, opened(place(url), calm_seconds=0.0) as source:
        assert all("not supported" in said for said in json.loads(await result_of(source, "ask_back")).values())
        tools: Any = source._inner  # type: ignore[attr-defined]
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(tools.renewed)
                await anyio.wait_all_tasks_blocked()
                await result_of(source, "grow", name="seed")
        assert "far__seed" in [spec.name for spec in source.tools()]


@pytest.mark.req("OAP-156")
async def test_only_the_operators_headers_go_out_and_the_session_is_ended() -> None:
    """The endpoint's query stays as it was written."""
    operator = Operator(headers=(("Authorization", "Bearer t0ken"), ("X-Team", "a b")))
    async with misbehaving("fine") as endpoint:
        async with opened(place(endpoint.url), operator=operator) as source:
            assert await result_of(source, "go") == "went"
        with anyio.fail_after(10):
            while endpoint.asked[-1].method != "DELETE":
                await anyio.wait_all_tasks_blocked()
        async with opened(place(endpoint.url)) as source:
            await result_of(source, "go")
            plain = endpoint.asked[-1]
    first = endpoint.asked[0]
    assert (first.path, first.headers["authorization"], first.headers["x-team"]) == (
        "/mcp?key=k",
        "Bearer t0ken",
        "a b",
    )
    assert "mcp-session-id" not in first.headers
    assert (plain.headers["mcp-session-id"], plain.headers["mcp-protocol-version"]) == ("s-1", "2025-11-25")
    assert {"authorization", "cookie", "x-team"}.isdisjoint(plain.headers)


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("redirects", "redirect (307), which is not followed"),
        ("wants_a_key", "wants a credential it accepts (401)"),
        ("is_a_website", "status 200 and no message"),
    ],
)
async def test_an_endpoint_that_is_no_server_is_refused_with_why(way: str, said: str) -> None:
    """A redirect is not followed, not even on the same host."""
    async with misbehaving(way) as endpoint:
        with pytest.raises(Refused) as caught:
            async with opened(place(endpoint.url)):
                pass
        assert [asked.path for asked in endpoint.asked] == ["/mcp?key=k"]
    assert said in str(caught.value)
    assert "key=k" not in str(caught.value)


@pytest.mark.req("OAP-064", "OAP-157")
async def test_a_standing_yes_does_not_cover_an_endpoint_that_nobody_configured() -> None:
    """An address out of a request is asked about call by call; one that its operator set up is covered."""
    async with misbehaving("fine") as endpoint:
        async with opened(place(endpoint.url), operator=None) as source:
            assert isinstance(await called(source, "go"), ToolAsks)
            assert await called(source, "go", ToolAnswer(granted=True)) == ToolDone("went")
        async with opened(place(endpoint.url)) as source:
            assert await called(source, "go") == ToolDone("went")


async def test_an_endpoint_where_nobody_listens_is_refused_with_why() -> None:
    """Without its URL, which may hold a secret."""
    async with misbehaving("fine") as endpoint:
        pass
    with pytest.raises(Refused) as caught:
        async with opened(place(endpoint.url)):
            pass
    assert "no connection could be made" in str(caught.value)


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("accepts_only", "status 202 and no message"),
        ("answers_another", "another request"),
        ("bad_json", "no JSON"),
        ("huge", "over 100000 bytes"),
        ("redirects_calls", r"redirect \(302\)"),
        ("fails", "status 500"),
        ("breaks_off", "not whole, valid HTTP"),
        ("is_not_http", "not whole, valid HTTP"),
        ("ends_its_stream", "ended before it was whole"),
        ("huge_event", "over the bound"),
    ],
)
async def test_a_call_whose_answer_is_none_fails_alone(way: str, said: str) -> None:
    """The next one is served."""
    async with (
        misbehaving(way) as endpoint,
        opened(place(endpoint.url), message_bytes=100_000, call_seconds=10.0) as source,
    ):
        with anyio.fail_after(20):
            with pytest.raises(PeerUnreachable, match=said):
                await result_of(source, "go")
        endpoint.way = "fine"
        assert await result_of(source, "go") == "went"


@pytest.mark.req("OAP-156")
async def test_an_event_stream_is_read_by_bytes() -> None:
    """B02: cut anywhere, with U+2028 in a text; a request of theirs on the way is answered."""
    async with misbehaving("drips") as endpoint, opened(place(endpoint.url)) as source:
        assert await result_of(source, "go") == "a\u2028b"
        with anyio.fail_after(10):
            while not any(asked.message.get("id") == "p1" for asked in endpoint.asked):
                await anyio.wait_all_tasks_blocked()


@pytest.mark.req("OAP-156", "OAP-159")
async def test_a_call_that_is_given_up_closes_its_stream_and_says_so() -> None:
    """The stream is closed and the cancellation sent, for a closed stream alone cancels nothing before 2026-07-28."""
    async with misbehaving("never") as endpoint, opened(place(endpoint.url), call_seconds=0.3) as source:
        with anyio.fail_after(10):
            with pytest.raises(PeerUnreachable, match=r"no answer within 0\.3 s"):
                await result_of(source, "go")
            await endpoint.gone.wait()
            while endpoint.asked[-1].message.get("method") != "notifications/cancelled":
                await anyio.wait_all_tasks_blocked()


@pytest.mark.req("OAP-156")
async def test_a_session_that_the_server_ended_is_begun_anew_by_the_next_call() -> None:
    """The call that learned of it fails."""
    async with misbehaving("ends_the_session") as endpoint, opened(place(endpoint.url)) as source:
        with pytest.raises(PeerUnreachable, match="ended our session"):
            await result_of(source, "go")
        assert await result_of(source, "go") == "went"
        hellos = [asked for asked in endpoint.asked if asked.message.get("method") == "initialize"]
        assert len(hellos) == 2


@pytest.mark.req("OAP-156")
async def test_a_change_told_on_the_standing_stream_renews_the_list() -> None:
    """The stream that a GET opens."""
    async with misbehaving("tells_of_change") as endpoint, opened(place(endpoint.url)) as source:
        with anyio.fail_after(20):
            while "far__more" not in [spec.name for spec in source.tools()]:
                await called(source, "go")


async def test_an_error_of_the_protocol_is_the_servers_no() -> None:
    """Over HTTP as over a pipe."""
    async with listening("http-json") as url, opened(place(url)) as source:
        with pytest.raises(PeerRefused):
            await result_of(source, "add", a=1)


@pytest.mark.req("OAP-156")
async def test_a_server_of_the_newer_protocol_alone_is_spoken_to_in_it() -> None:
    """There closing the stream is the whole cancellation: no message says so."""
    async with misbehaving("is_newer") as endpoint, opened(place(endpoint.url), call_seconds=0.3) as source:
        assert await result_of(source, "go") == "went"
        assert endpoint.asked[-1].headers["mcp-protocol-version"] == "2026-07-28"
        endpoint.way = "never"
        with anyio.fail_after(20):
            with pytest.raises(PeerUnreachable):
                await result_of(source, "go")
            await endpoint.gone.wait()
        endpoint.way = "fine"
        assert await result_of(source, "go") == "went"
    assert "notifications/cancelled" not in [asked.message.get("method") for asked in endpoint.asked]
