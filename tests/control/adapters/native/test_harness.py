"""A hub over real hostile children: every run ends once, everybody who waits is told, and nobody is left running."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from sayso.control.hub.hub import Hub
from sayso.control.hub.machine import Cursor, Deliver
from sayso.control.hub.registry import Registry
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.error import ErrorResponse
from sayso.control.protocol.payloads.run import RunCompleted, RunFailed
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.net.group import ProcessGroup
from tests.control.adapters.native.toy import HEAD, HELLO, PROMPT, ToyAdapter
from tests.control.conftest import Trace
from tests.control.houses import NOON
from tests.control.wire import opens, submits

pytestmark = pytest.mark.anyio


class Floor:
    """A hub with one toy adapter, and the steps of most tests."""

    def __init__(self, hub: Hub, adapter: ToyAdapter) -> None:
        self.hub = hub
        self.adapter = adapter

    async def open(self) -> Envelope[Wire]:
        return await self.hub.open("toy", opens("s1"))

    async def submit(self) -> Envelope[Wire]:
        return await self.hub.session("s1").submit(submits("s1"))

    async def run(self) -> list[Envelope[Wire]]:
        """Opens, submits, and reads to the terminal."""
        assert (await self.open()).type == "session.open.response"
        answer = await self.submit()
        assert answer.type == "session.message.submit.response", answer
        return await self.events()

    async def events(self) -> list[Envelope[Wire]]:
        session, found = self.hub.session("s1"), []
        async for effect in session.read(session.subscribe(Cursor(0, "r1"))):
            if isinstance(effect, Deliver):
                found += [entry.envelope for entry in effect.entries]
        return found


@asynccontextmanager
async def floor(trace: Trace, code: str, **how: Any) -> AsyncIterator[Floor]:
    """A wait that never ends fails, and so does a process that is left."""
    before = children()
    adapter = ToyAdapter(code, **how)
    hub = Hub(Registry({"toy": adapter}), clock=ManualClock(NOON), ids=CountingIds(), record=trace.record, patience=0.5)
    with anyio.fail_after(40):
        async with hub:
            yield Floor(hub, adapter)
    assert children() == before
    for session in adapter.sessions:
        assert session.harness is not None
        assert not ProcessGroup(session.harness._child.pid).is_alive()


def children() -> set[int]:
    return {int(pid) for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}


def failure(events: list[Envelope[Wire]]) -> RunFailed:
    """The one terminal."""
    payload = events[-1].payload
    assert isinstance(payload, RunFailed), payload
    assert [each.type for each in events].count("run.failed") == 1
    return payload


def details(payload: RunFailed) -> dict[str, Any]:
    return dict(payload.error.details or {})


@pytest.mark.req("OAP-044")
async def test_a_well_behaved_harness_completes_its_run(trace: Trace) -> None:
    """The plain case, with noise that means nothing."""
    async with floor(trace, PROMPT + 'say(noise=1)\nsay(say="hi")\nsay(done=1)\nhear()') as at:
        events = await at.run()
    assert [each.type for each in events] == ["run.started", "content.delta", "run.completed"]


@pytest.mark.req("OAP-045")
async def test_odd_characters_and_a_split_one_arrive_whole(trace: Trace) -> None:
    """B01, B06: U+2028, U+0085 and a character flushed byte by byte."""
    text = "a\u2028b\u2029c\u0085d 한 😀"
    code = PROMPT + (
        f"line = json.dumps({{'say': {text!r}}}, ensure_ascii=False).encode() + b'\\n'\n"
        "for i in range(len(line)): out.write(line[i:i+1]); out.flush()\n"
        "say(done=1)\nhear()"
    )
    async with floor(trace, code) as at:
        events = await at.run()
    assert events[1].payload.part.text == text  # type: ignore[attr-defined]


@pytest.mark.req("OAP-044", "OAP-045")
async def test_long_lines_under_the_bound_arrive_and_one_over_it_fails_the_run_by_its_size(trace: Trace) -> None:
    """B03, B04: the counter starts anew with each line; over the bound there is one typed failure that says so,
    the child is reaped, and the next submit is a typed refusal.
    """
    code = PROMPT + (
        'for _ in range(40): say(say="x" * 100_000)\n'
        "out.write(b'{\"say\":\"' + b'y' * 140_000 + b'\"}\\n'); out.flush()\ntime.sleep(60)"
    )
    async with floor(trace, code, line_limit=120_000) as at:
        events = await at.run()
        failed = failure(events)
        assert len(events) == 42
        assert "over the bound of 120000" in failed.error.message
        assert (failed.error.code, failed.settled_by) == ("protocol_violation", "inferred")
        refused = await at.submit()
        assert isinstance(refused.payload, ErrorResponse)
        assert refused.payload.error.code == "protocol_violation"


@pytest.mark.req("OAP-045")
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[1,2]\\n", "not_an_object"), ("\\n", "blank"), ('{"say":"x"}\\r\\n', "carriage_return"),
        ('{"say":"x","say":"y"}\\n', "duplicate_member"), ("Starting up...\\n", "syntax"),
    ],
)  # fmt: skip
async def test_a_frame_that_is_none_fails_the_run_and_ends_the_harness(trace: Trace, line: str, reason: str) -> None:
    """B05: nothing hangs on a reader that is gone."""
    async with floor(trace, PROMPT + f"out.write(b'''{line}'''); out.flush(); time.sleep(60)") as at:
        failed = failure(await at.run())
    assert failed.error.code == "protocol_violation"
    assert (failed.settled_by, details(failed)["reason"]) == ("inferred", reason)


@pytest.mark.req("OAP-045")
async def test_a_last_line_without_its_end_fails_the_run(trace: Trace) -> None:
    """Half a result is none."""
    async with floor(trace, PROMPT + "out.write(b'{\"done\":1}'); out.flush()") as at:
        assert failure(await at.run()).error.message.endswith("a last line without its end")


@pytest.mark.req("OAP-045")
async def test_a_frame_that_must_not_be_lost_fails_the_run(trace: Trace) -> None:
    """There is no way to say it, so the run does not go on as though it had not been said."""
    async with floor(trace, PROMPT + "say(vital=1)\nsay(done=1)\ntime.sleep(60)") as at:
        assert failure(await at.run()).error.code == "protocol_violation"


@pytest.mark.req("OAP-045")
async def test_a_request_nobody_serves_gets_the_native_error_and_the_run_goes_on(trace: Trace) -> None:
    """The harness does not wait for ever."""
    code = PROMPT + 'say(please="dance", id=9)\nsay(say=json.dumps(hear()))\nsay(done=1)\nhear()'
    async with floor(trace, code) as at:
        events = await at.run()
    assert events[1].payload.part.text == '{"re": 9, "error": "nobody does that here"}'  # type: ignore[attr-defined]
    assert isinstance(events[-1].payload, RunCompleted)


@pytest.mark.req("OAP-044")
async def test_a_flood_on_stderr_blocks_nobody_and_stays_out_of_the_way(trace: Trace) -> None:
    """B07: 300 KB before the answer."""
    code = PROMPT + "sys.stderr.write('x' * 300_000); sys.stderr.flush()\nsay(done=1)\nhear()"
    async with floor(trace, code) as at:
        assert isinstance((await at.run())[-1].payload, RunCompleted)


@pytest.mark.req("OAP-044")
async def test_an_exit_settles_the_run_once_with_what_was_open_closed_first(trace: Trace) -> None:
    """B08: the exit code and the end of stderr are in the failure, and the secret it was given is not."""
    code = PROMPT + "say(ask=1)\nsys.stderr.write('bad key ' + os.environ['TOKEN'])\nsys.stderr.flush()\nos._exit(7)"
    async with floor(trace, code) as at:
        events = await at.run()
    assert [each.type for each in events[1:]] == [
        "action.call.requested", "action.permission.requested", "action.permission.resolved", "action.call.failed",
        "run.failed",
    ] or events[-2].type.startswith("action.")  # fmt: skip
    failed = failure(events)
    assert (failed.error.code, failed.settled_by) == ("adapter_failed", "inferred")
    assert details(failed) == {"exit_code": 7, "stderr": "bad key [...]"}


@pytest.mark.req("OAP-044")
async def test_a_request_that_waits_is_failed_when_the_harness_dies(trace: Trace) -> None:
    """B08: the prompt was read and never answered."""
    async with floor(trace, HELLO + "hear()\nos._exit(1)") as at:
        await at.open()
        refused = await at.submit()
        assert isinstance(refused.payload, ErrorResponse)
        assert refused.payload.error.code == "adapter_failed"
        assert (refused.payload.error.details or {})["exit_code"] == 1


BREED = (
    "subprocess.Popen([sys.executable, '-I', '-c', 'import signal, time; "
    "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(120)'])\n"
)


@pytest.mark.req("OAP-044")
async def test_a_grandchild_that_holds_the_output_does_not_hold_the_result(trace: Trace) -> None:
    """B09: the native result settles the run; the family, which ignores SIGTERM, is swept when the session closes."""
    stubborn = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    async with floor(trace, PROMPT + stubborn + BREED + "say(done=1)\ntime.sleep(120)") as at:
        assert isinstance((await at.run())[-1].payload, RunCompleted)


@pytest.mark.req("OAP-044")
@pytest.mark.parametrize(
    ("code", "seconds"),
    [
        (HEAD + "sys.stderr.write('no ' + os.environ['TOKEN'])\nsys.stderr.flush()\nos._exit(3)", 20.0),
        (HEAD + "out.write(b'Welcome!\\n'); out.flush(); time.sleep(120)", 20.0),
        (HEAD + BREED + "signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(120)", 0.3),
        ("import os; os._exit(0)", 20.0),
    ],
    ids=["exits", "no frame", "never ready", "silent"],
)
async def test_a_start_that_fails_is_refused_and_leaves_nobody(trace: Trace, code: str, seconds: float) -> None:
    """B09: the sweep runs on a failed start too, within its bounds, and the refusal says what is known."""
    async with floor(trace, code, seconds=seconds) as at:
        refused = await at.open()
        assert isinstance(refused.payload, ErrorResponse)
        assert refused.payload.error.code == "open_failed"
        assert "hunter2" not in str(refused.payload)


async def test_a_program_that_is_not_there_is_refused(trace: Trace) -> None:
    """Under the same code."""
    async with floor(trace, HELLO) as at:
        at.adapter._program = type(at.adapter._program)(command=["/no/such/program"], environment={})
        refused = await at.open()
        assert isinstance(refused.payload, ErrorResponse)
        assert refused.payload.error.code == "open_failed"


@pytest.mark.req("OAP-044", "OAP-089")
async def test_a_harness_sees_only_what_its_entry_lists(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing ambient."""
    monkeypatch.setenv("SAYSO_TEST_SECRET", "hunter2-ambient")
    code = PROMPT + "say(say=json.dumps(sorted(os.environ)))\nsay(done=1)\nhear()"
    async with floor(trace, code, environment={"ONE": "1"}) as at:
        events = await at.run()
    names = set(__import__("json").loads(events[1].payload.part.text))  # type: ignore[attr-defined]
    assert names - {"LC_CTYPE"} == {"ONE"}


@pytest.mark.req("OAP-044")
async def test_a_harness_that_is_killed_from_outside_fails_its_run(trace: Trace) -> None:
    """SIGKILL of a child: the run ends, and the session takes no other."""
    async with floor(trace, PROMPT + "say(say='up')\ntime.sleep(120)") as at:
        await at.open()
        await at.submit()
        harness = at.adapter.sessions[0].harness
        assert harness is not None
        os.kill(harness._child.pid, 9)
        failed = failure(await at.events())
        assert details(failed)["exit_code"] == -9
