"""Waits and repetitions (B24): Retry-After is a floor, attempts and waits are bounded, told, and can be stopped."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.protocol.payloads.content import TextPart
from sayso.control.provider.wires import Limits
from sayso.control.provider.wires.faults import Failure
from sayso.control.provider.wires.retry import next_wait, read_retry_after
from sayso.testing.provider import Say
from sayso.testing.vendor_servers import Said, Status, Stream, frame
from sayso.testing.vendor_servers.broken import closed_port, resetting
from tests.control.provider.wires.bench import ALL, GENERATE, MESSAGES, NOON, Bench, Heard, open_bench

every_wire = pytest.mark.parametrize("wire", ALL)
FINE = Said([Say("fine")])


async def infer(bench: Bench) -> Heard:
    """To the end, time passing whenever it is waited for."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.pass_time)
        heard = await bench.infer()
        tasks.cancel_scope.cancel()
    return heard


def limited(retry_after: str | None) -> Status:
    return Status(429, {"error": {"message": "slow"}}, {} if retry_after is None else {"retry-after": retry_after})


FORMS: dict[str, tuple[str | None, float]] = {
    "seconds": ("2", 2.0),
    "a fraction": ("1.5", 1.5),
    "negative": ("-1", 0.5),
    "zero": ("0", 0.5),
    "a date": (format_datetime(NOON + timedelta(seconds=7), usegmt=True), 7.0),
    "an old date": (f"{NOON + timedelta(seconds=7):%A, %d-%b-%y %H:%M:%S GMT}", 7.0),
    "C's date": (f"{NOON + timedelta(seconds=7):%a %b %d %H:%M:%S %Y}", 7.0),
    "a date that has passed": (format_datetime(NOON - timedelta(days=25), usegmt=True), 0.5),
    "nothing": (None, 0.5),
    "nonsense": ("soon", 0.5),
    "infinity": ("inf", 0.5),
    "no number": ("NaN", 0.5),
}


@pytest.mark.anyio
@every_wire
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.req("OAP-133")
async def test_b24_retry_after_is_a_floor_under_the_wait(wire: str, form: str) -> None:
    """The wait is told and exact, and the second attempt succeeds."""
    said, seconds = FORMS[form]
    async with open_bench(wire, [limited(said), FINE]) as bench:
        heard = await infer(bench)
        waits = [(told.attempt, told.seconds, told.code) for told in bench.told]
    assert (heard.parts, waits) == ((TextPart(text="fine"),), [(1, seconds, "rate_limited")])
    assert bench.clock.now() == NOON + timedelta(seconds=seconds)


@pytest.mark.anyio
@every_wire
@pytest.mark.parametrize(("said", "hint"), [("3600", 3_600_000), ("2160000", 86_400_000)])
@pytest.mark.req("OAP-133")
async def test_b24_an_hour_is_not_waited_for(wire: str, said: str, hint: int) -> None:
    """Nor 25 days: it fails at once as `rate_limited`, and what the vendor asked for is in the details, clamped."""
    async with open_bench(wire, [limited(said), FINE]) as bench:
        heard = await infer(bench)
    assert (heard.error.code, heard.error.retriable) == ("rate_limited", True)
    assert heard.error.details == {"status": 429, "retry_after_ms": hint}
    assert (bench.told, len(bench.server.received)) == ([], 1)


@pytest.mark.anyio
@every_wire
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529])
@pytest.mark.req("OAP-133")
async def test_b24_attempts_are_bounded_and_waits_double(wire: str, status: int) -> None:
    """Three attempts and no more."""
    async with open_bench(wire, [Status(status)] * 9, limits=Limits(attempts=3)) as bench:
        heard = await infer(bench)
    assert [told.seconds for told in bench.told] == [0.5, 1.0]
    assert (len(bench.server.received), heard.types) == (3, ["create.response", "started", "failed"])
    assert heard.error.code == {429: "rate_limited", 500: "endpoint_error"}.get(status, "provider_unavailable")


@pytest.mark.anyio
@every_wire
@pytest.mark.req("OAP-133")
async def test_b24_the_total_is_bounded(wire: str) -> None:
    """Each wait is short enough and all together are not."""
    limits = Limits(attempts=100, longest_wait=10, total_wait=25)
    async with open_bench(wire, [limited("10")] * 9, limits=limits) as bench:
        heard = await infer(bench)
    assert ([told.seconds for told in bench.told], heard.error.code) == ([10.0, 10.0], "rate_limited")


@pytest.mark.anyio
@every_wire
@pytest.mark.req("OAP-132", "OAP-133")
async def test_b24_a_wait_can_be_stopped(wire: str) -> None:
    """A cancel ends the wait; nothing is sent again."""
    async with open_bench(wire, [limited("20"), FINE]) as bench:
        async with anyio.create_task_group() as tasks:

            async def stop() -> None:
                while not bench.clock.sleepers:
                    await anyio.lowlevel.checkpoint()
                assert await bench.cancel(bench.told[-1].inference_id)

            tasks.start_soon(stop)
            heard = await bench.infer()
        assert (heard.stop_reason, len(bench.server.received), bench.clock.now()) == ("aborted", 1, NOON)


@pytest.mark.anyio
@every_wire
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 501])
@pytest.mark.req("OAP-133")
async def test_what_will_not_pass_is_not_repeated(wire: str, status: int) -> None:
    """A bad request stays bad."""
    async with open_bench(wire, [Status(status), FINE]) as bench:
        heard = await bench.infer()
    assert (len(bench.server.received), heard.types[-1], heard.error.retriable) == (1, "failed", False)


@pytest.mark.anyio
@every_wire
@pytest.mark.req("OAP-133")
async def test_an_empty_account_is_not_waited_for(wire: str) -> None:
    """Vendors answer 429 for it too; the body says what it is."""
    empty = Status(429, {"error": {"message": "pay", "type": "billing_error", "code": "insufficient_quota"}})
    async with open_bench(wire, [empty, FINE]) as bench:
        heard = await bench.infer()
    assert (heard.error.code, len(bench.server.received)) == ("resource_exhausted", 1)


@pytest.mark.anyio
@every_wire
@pytest.mark.req("OAP-133")
async def test_a_port_nobody_listens_on_is_tried_again(wire: str) -> None:
    """Nothing was sent, so it may be repeated; a connection reset before an answer may have been heard, and is not."""
    async with open_bench(wire, base_url=closed_port(), limits=Limits(attempts=2)) as bench:
        heard = await infer(bench)
    assert (heard.error.code, heard.reason, len(bench.told)) == ("provider_unavailable", "not_connected", 1)
    async with resetting() as url, open_bench(wire, base_url=url) as bench:
        heard = await bench.infer()
    assert (heard.error.code, bench.told, heard.error.retriable) == ("provider_unavailable", [], True)


@pytest.mark.anyio
@every_wire
@pytest.mark.req("OAP-131", "OAP-133")
async def test_nothing_is_repeated_once_a_part_was_told(wire: str) -> None:
    """A stream that breaks fails; its parts were heard."""
    torn = Stream([frame({"nothing": True})], is_torn=True)
    async with open_bench(wire, [torn, FINE]) as bench:
        heard = await bench.infer()
    assert (heard.error.code, len(bench.server.received)) == ("provider_unavailable", 1)


@pytest.mark.anyio
@pytest.mark.req("OAP-154")
async def test_the_credential_is_asked_for_again_before_each_attempt() -> None:
    """A token that was refreshed while we waited is the one that is used."""
    keys = iter(["old", "fixture-key-0123456789"])

    async def credential() -> str | None:
        return next(keys)

    async with open_bench(MESSAGES, base_url=closed_port(), limits=Limits(attempts=2), credential=credential) as bench:
        await infer(bench)
    assert next(keys, None) is None


@pytest.mark.anyio
@pytest.mark.req("OAP-133")
async def test_other_ways_to_say_when_are_read_too() -> None:
    """OpenAI's milliseconds, Google's RetryInfo in the body."""
    now = datetime(2026, 10, 13, tzinfo=UTC)
    assert read_retry_after({"retry-after-ms": "1500", "retry-after": "9"}, now) == 1.5
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3.5s"}]
    info = Status(429, [{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": details}}])
    async with open_bench(GENERATE, [info, FINE]) as bench:
        await infer(bench)
    assert [told.seconds for told in bench.told] == [3.5]


@given(said=st.text(st.characters(codec="ascii"), max_size=30) | st.integers().map(str) | st.floats().map(str))
@pytest.mark.req("OAP-133")
def test_b24_whatever_the_header_says_the_wait_is_bounded(said: str) -> None:
    """No header makes a wait negative, endless or an error."""
    asked = read_retry_after({"retry-after": said}, NOON)
    assert asked is None or 0 <= asked <= 86_400
    limits = Limits()
    wait = next_wait(Failure("rate_limited", "x", status=429, wait=asked), 1, 0.0, limits)
    assert wait is None or limits.first_wait <= wait <= limits.longest_wait
