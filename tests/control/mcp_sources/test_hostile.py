"""A child that breaks the protocol, or itself."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

import anyio
import msgspec
import pytest

from sayso.core.clock import ManualClock
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from sayso.net.pipes import Patience
from tests.control.mcp_sources.opening import opened, pipe, result_of

pytestmark = pytest.mark.anyio
START = datetime(2026, 1, 1, tzinfo=UTC)
HASTY = Patience(eof=0.1, term=1.0)


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


async def refusal_at_start(way: str, environment: tuple[str, ...] = (), **limits: float) -> Refused:
    with pytest.raises(Refused) as caught:
        async with opened(pipe("hostile", way, environment=environment), patience=HASTY, **limits):
            raise AssertionError("it opened")
    assert caught.value.refusal.code == "open_failed"
    assert caught.value.refusal.details["source"] == "far"
    return caught.value


@pytest.mark.req("OAP-156")
async def test_a_child_that_exits_at_its_start_is_told_with_its_code_and_last_words() -> None:
    """And without the values it was given: they may be secrets."""
    refused = await refusal_at_start("exits_at_start", ("TOKEN=t0p-secret",))
    details = refused.refusal.details
    assert (details["exit_code"], details["stderr"]) == (3, "cannot read [...]")
    assert "exit code 3" in str(refused)
    assert "t0p-secret" not in str(refused)


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("old_words", "not what the protocol says"),
        ("nonsense", "not what the protocol says"),
        ("says_no", "licence expired"),
        ("noisy", "lines that are no messages"),
        ("endless_list", "does not end"),
        ("large_list", "too large"),
        ("asks_and_hears_nothing", "asks more than it takes answers to"),
        ("many_tools", "300 tools"),
        ("twins", "far__go"),
    ],
)
async def test_a_start_that_goes_wrong_is_refused_with_why(way: str, said: str) -> None:
    """Never a session that has half of a source."""
    told = str(await refusal_at_start(way, message_bytes=1_000_000))
    assert said in told
    assert told.isprintable(), "what a server says is printed on terminals"


@pytest.mark.req("OAP-156")
async def test_a_child_that_never_answers_is_not_waited_for_without_end() -> None:
    """The start has its seconds."""
    with anyio.fail_after(15):
        assert "not ready within 0.5 s" in str(await refusal_at_start("silent", start_seconds=0.5))


@pytest.mark.req("OAP-156")
async def test_whoever_gives_up_a_start_does_not_wait_for_its_seconds() -> None:
    """Nothing of the child is left: it is ended before the giving up goes on."""
    patience = Patience(eof=0.0)
    with anyio.fail_after(15), anyio.move_on_after(1.0) as given_up:
        async with opened(pipe("hostile", "silent"), start_seconds=60.0, patience=patience):
            raise AssertionError("it opened")
    assert given_up.cancelled_caught


async def test_a_program_that_is_not_there_is_refused_by_name() -> None:
    """With what would help."""
    absent = msgspec.structs.replace(pipe("hostile", "x"), command="no-such-program-anywhere")
    with pytest.raises(Refused) as caught:
        async with opened(absent):
            pass
    assert "there is no such program" in str(caught.value)
    assert caught.value.refusal.help


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize("way", ["fine", "prints_first", "loud"])
async def test_what_people_print_and_log_by_mistake_does_no_harm(way: str) -> None:
    """A banner on stdout, and more on stderr than a pipe holds (B07)."""
    async with opened(pipe("hostile", way)) as source:
        assert await result_of(source, "go") == "went"


async def test_line_separators_of_unicode_end_no_line() -> None:
    """B01: U+2028 and U+0085 stand inside a text."""
    async with opened(pipe("hostile", "separators")) as source:
        assert await result_of(source, "go") == "a\u2028b\x85c"


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("dies_mid_call", "exited with code 9"),
        ("bad_json", "no JSON"),
        ("twice", "no JSON"),
        ("an_array", "no message"),
        ("huge", "over the bound"),
    ],
)
async def test_a_connection_that_breaks_in_a_call_ends_the_call_and_is_taken_up_by_the_next(
    way: str, said: str
) -> None:
    """Once: whoever dies again at once stays dead (B08: nobody waits for ever)."""
    clock = ManualClock(START)
    async with opened(pipe("hostile", way), clock=clock, message_bytes=1_000_000, call_seconds=10.0) as source:
        with anyio.fail_after(30):
            with pytest.raises(PeerUnreachable, match=said):
                await result_of(source, "go")
            with pytest.raises(PeerUnreachable, match=said):
                await result_of(source, "go")
            with pytest.raises(PeerUnreachable, match="soon after it was started again"):
                await result_of(source, "go")
            clock.advance(timedelta(minutes=2))
            with pytest.raises(PeerUnreachable) as caught:
                await result_of(source, "go")
    assert "soon after" not in str(caught.value)


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize("way", ["wrong_id", "never"])
async def test_an_answer_to_nobody_answers_nobody(way: str) -> None:
    """The call ends by its time, and the server is asked again afterwards."""
    async with opened(pipe("hostile", way), call_seconds=0.3) as source:
        for _ in range(2):
            with pytest.raises(PeerUnreachable, match=r"no answer within 0\.3 s"):
                await result_of(source, "go")


@pytest.mark.req("OAP-156")
@pytest.mark.parametrize(
    ("way", "code", "said"),
    [
        ("no_result", "protocol_violation", "no result"),
        ("wants_more", "protocol_violation", "no result"),
        ("error", "tool_failed", "characters are left out"),
    ],
)
async def test_an_answer_that_is_no_result_is_the_servers_no(way: str, code: str, said: str) -> None:
    """Bounded, whatever it says."""
    async with opened(pipe("hostile", way)) as source:
        with pytest.raises(PeerRefused, match=said) as caught:
            await result_of(source, "go")
    assert (caught.value.peer, caught.value.refusal.code) == ("far", code)
    assert len(str(caught.value)) < 2500


async def test_a_tool_that_no_model_could_be_given_is_left_out() -> None:
    """The rest of the server is of use."""
    async with opened(pipe("hostile", "bad_schemas")) as source:
        assert [spec.name for spec in source.tools()] == ["far__go"]


@pytest.mark.req("OAP-156")
async def test_what_a_child_started_ends_with_it() -> None:
    """B09: its whole group, when the session closes."""
    async with opened(pipe("hostile", "orphan")) as source:
        pid = int(await result_of(source, "go"))
        assert is_running(pid)
    assert not is_running(pid)


@pytest.mark.req("OAP-156")
async def test_a_child_that_will_not_go_is_killed() -> None:
    """Neither the end of its input nor SIGTERM moves it."""
    patience = Patience(eof=0.1, term=0.1)
    async with opened(pipe("hostile", "stops_for_nothing"), patience=patience) as source:
        pid = int(await result_of(source, "go"))
        assert is_running(pid)
        os.kill(pid, 15)
    assert not is_running(pid)
