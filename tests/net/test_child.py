"""Children against their worst: real processes that flood, freeze, split characters, ignore signals and breed."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from sayso.core.refusal import Misuse, PeerUnreachable, Refused
from sayso.net.child import Cause, Child, Ending, Patience, Program, spawn, start
from sayso.net.group import ProcessGroup

pytestmark = pytest.mark.anyio

SHORT = Patience(eof=0.2, term=0.2, kill=5.0, drain=0.1)
LONG = Patience(eof=30, term=30, kill=30, drain=30)


@pytest.fixture(
    params=[pytest.param({"use_uvloop": False}, id="asyncio"), pytest.param({"use_uvloop": True}, id="uvloop")]
)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, object]:
    return "asyncio", request.param


def program(code: str, *, patience: Patience = SHORT, line_limit: int = 1_000_000, tail_limit: int = 1000,
            environment: dict[str, str] | None = None) -> Program:  # fmt: skip
    head = "import os, sys, time, signal, subprocess\nout = sys.stdout.buffer\n"
    return Program(
        command=[sys.executable, "-I", "-c", head + code],
        environment=environment or {},
        called="toy",
        line_limit=line_limit,
        tail_limit=tail_limit,
        patience=patience,
    )


@asynccontextmanager
async def toy(code: str, **how: object) -> AsyncIterator[Child]:
    """Runs a toy and sees that nobody of its group is left. A wait that never ends is ended: that is a failure."""
    with anyio.fail_after(20):
        async with spawn(program(code, **how)) as child:  # type: ignore[arg-type]
            yield child
    assert not ProcessGroup(child.pid).is_alive()
    assert not Path(f"/proc/{child.pid}").exists()


async def all_lines(child: Child) -> list[bytes]:
    return [line async for line in child.lines()]


@pytest.mark.req("OAP-044")
async def test_lines_go_both_ways_and_a_clean_exit_is_an_ending() -> None:
    """The plain case: what is written is read, what is answered arrives, end of input lets it go."""
    async with toy("for line in sys.stdin.buffer: out.write(b'<' + line); out.flush()", patience=LONG) as child:
        for line in (b"one", b"", b"three\r"):
            await child.write_line(line)
            assert await child.read_line() == b"<" + line
        child.close_input()
        assert await child.read_line() is None
        assert child.ending == Ending(cause=Cause.EXITED, exit_code=0)
        assert await child.close() == child.ending


@pytest.mark.req("OAP-044")
async def test_a_flood_on_stderr_blocks_nobody() -> None:
    """B07: 200 KB on stderr before the answer; the answer comes, and the tail is the last of it within its bound."""
    async with toy("sys.stderr.write('x' * 200_000 + 'the end'); sys.stderr.flush(); print('ok')") as child:
        assert await all_lines(child) == [b"ok"]
    assert child.stderr_tail == "x" * 993 + "the end"


async def test_a_long_line_and_a_line_with_odd_characters_arrive_whole() -> None:
    """B01, B03: 140,000 bytes in one line; U+2028, U+0085, VT and FF inside a line do not end it."""
    odd = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1c\r"
    code = f"out.write(b'y' * 140_000 + b'\\n'); out.write({odd!r}.encode() + b'\\n')"
    async with toy(code) as child:
        assert await all_lines(child) == [b"y" * 140_000, odd.encode()]


async def test_a_character_split_between_writes_arrives_whole() -> None:
    """B06: each byte of a multi-byte text is flushed by itself, waiting for our line each time."""
    text = "한글 中文 日本語 😀"
    code = (
        f"data = {text!r}.encode() + b'\\n'\n"
        "for i in range(len(data)):\n"
        "    sys.stdin.buffer.readline(); out.write(data[i:i+1]); out.flush()\n"
    )
    async with toy(code) as child:
        for _ in range(len(text.encode()) + 1):
            await child.write_line(b"next")
        assert await child.read_line() == text.encode()


async def test_what_follows_the_last_line_end_is_kept_apart() -> None:
    """An unterminated last line is no line; the adapter decides what it means."""
    async with toy("out.write(b'one\\nhalf')") as child:
        assert await all_lines(child) == [b"one"]
        assert child.ending == Ending(cause=Cause.EXITED, exit_code=0, unfinished=b"half")


@pytest.mark.req("OAP-044")
async def test_an_exit_settles_everybody_once() -> None:
    """B08: exit 1 while somebody waits for a line: reader, waiter and writer all hear the same ending."""
    code = "sys.stdin.buffer.readline(); sys.stderr.write('boom'); sys.exit(1)"
    async with toy(code) as child, anyio.create_task_group() as group:
        heard: list[object] = []

        async def read() -> None:
            heard.append(await child.read_line())

        async def wait() -> None:
            heard.append(await child.ended())

        group.start_soon(read)
        group.start_soon(wait)
        await child.write_line(b"prompt")
        ending = await child.ended()
        with pytest.raises(PeerUnreachable, match="toy could not be reached: it exited with code 1"):
            await child.write_line(b"more")
    assert (ending, child.ending) == (Ending(cause=Cause.EXITED, exit_code=1), ending)
    assert sorted(map(str, heard)) == ["None", "it exited with code 1"]
    assert child.stderr_tail == "boom"


async def test_a_signal_is_told_from_an_exit() -> None:
    """A child that was killed from outside says by which signal."""
    async with toy("os.kill(os.getpid(), 9)") as child:
        assert await child.read_line() is None
        assert (child.ending.exit_code, str(child.ending)) == (-9, "it was ended by signal 9")  # type: ignore[union-attr]


BREED = (
    "pid = subprocess.Popen([sys.executable, '-I', '-c', 'import signal, time; "
    'signal.signal(signal.SIGTERM, signal.SIG_IGN); print("born", flush=True); time.sleep(120)\']).pid\n'
)


@pytest.mark.req("OAP-044")
async def test_a_grandchild_that_holds_the_output_does_not_hold_the_ending() -> None:
    """B09: the child exits, its grandchild keeps the pipe and ignores SIGTERM: it ends, and both are gone."""
    async with toy(BREED + "print(pid, flush=True); sys.stdin.buffer.readline()") as child:
        lines = sorted([await child.read_line(), await child.read_line()])  # type: ignore[type-var]
        await child.write_line(b"go")
        ending = await child.ended()
        assert (ending.cause, ending.exit_code) == (Cause.EXITED, 0)
    assert not is_running(int(lines[0] or 0))


@pytest.mark.req("OAP-044")
async def test_a_family_that_ignores_every_hint_is_killed() -> None:
    """Child and grandchild ignore end of input and SIGTERM; closing ends both."""
    stubborn = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + BREED + "print(pid, flush=True)\ntime.sleep(120)"
    async with toy(stubborn) as child:
        lines = sorted([await child.read_line(), await child.read_line()])  # type: ignore[type-var]
    assert child.ending == Ending(cause=Cause.CLOSED_BY_US, exit_code=-9)
    assert not is_running(int(lines[0] or 0))


def is_running(pid: int) -> bool:
    """Whether a process runs; a dead one that its new parent has not reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in (b"Z", b"X")


async def test_a_polite_child_gets_its_time_after_the_end_of_input() -> None:
    """End of input comes first, and what it still writes then is not lost."""
    async with toy("sys.stdin.buffer.read(); print('bye')", patience=LONG) as child:
        ending = await child.close()
        assert (ending, await child.read_line()) == (Ending(cause=Cause.CLOSED_BY_US, exit_code=0), b"bye")


@pytest.mark.req("OAP-044")
async def test_a_child_that_needs_sigterm_gets_it() -> None:
    """It ignores the end of input but not SIGTERM, and may say goodbye."""
    code = (
        "signal.signal(signal.SIGTERM, lambda *_: (print('term', flush=True), os._exit(7)))\nprint('up', flush=True)\n"
    )
    code += "time.sleep(120)"
    async with toy(code, patience=Patience(eof=0.05, term=30, kill=30)) as child:
        assert await child.read_line() == b"up"
        ending = await child.close()
        assert (ending.exit_code, await child.read_line()) == (7, b"term")


@pytest.mark.req("OAP-044")
async def test_a_failure_in_the_block_ends_the_child() -> None:
    """A failed handshake is a path out like any other."""
    with pytest.raises(ZeroDivisionError):
        async with spawn(program("time.sleep(120)")) as child:
            raise ZeroDivisionError
    assert not is_running(child.pid)


@pytest.mark.req("OAP-044")
@pytest.mark.parametrize("kind", ["scope", "task", "task twice"])
async def test_a_cancelled_block_ends_the_child(kind: str) -> None:
    """Any kind of cancellation, while the child ignores SIGTERM: the end is still reached, within its bounds."""
    born: list[Child] = []

    async def block() -> None:
        code = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(120)"
        async with spawn(program(code)) as child:
            await child.read_line()
            born.append(child)
            await child.read_line()

    if kind.startswith("task"):
        running = asyncio.create_task(block())
        while not born:
            await asyncio.sleep(0)
        running.cancel()
        if kind == "task twice":
            await anyio.wait_all_tasks_blocked()
            running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    else:
        async with anyio.create_task_group() as group:
            group.start_soon(block)
            while not born:
                await asyncio.sleep(0)
            group.cancel_scope.cancel()
    assert not is_running(born[0].pid)


async def test_a_start_that_is_cancelled_leaves_nobody() -> None:
    """The cancellation is there before the fork: the child is made, ended and reaped all the same."""
    before = children()
    starting = asyncio.create_task(start(program("time.sleep(120)")))
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert children() == before


def children() -> set[int]:
    return {int(pid) for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}


@pytest.mark.req("OAP-044")
async def test_a_line_over_the_bound_ends_the_child_with_its_size() -> None:
    """B03, B04: one typed ending, the lines before it kept, the child not left half alive; many lines under it pass."""
    code = (
        "out.write(b'fine\\n' + (b'a' * 100 + b'\\n') * 20 + b'b' * 101 + b'\\nafter\\n'); out.flush(); time.sleep(120)"
    )
    async with toy(code, line_limit=100) as child:
        assert await all_lines(child) == [b"fine"] + [b"a" * 100] * 20
        ending = child.ending
        assert ending is not None
        assert (ending.cause, ending.refusal.details["size"]) == (Cause.LINE_TOO_LONG, 101)  # type: ignore[union-attr]


async def test_a_line_over_the_bound_is_not_written() -> None:
    """Refused before a byte of it goes out: the child reads the next line as if nothing had been."""
    async with toy("for line in sys.stdin.buffer: out.write(line); out.flush()", line_limit=10) as child:
        with pytest.raises(Refused) as caught:
            await child.write_line(b"x" * 11)
        assert caught.value.refusal.code == "line_too_long"
        with pytest.raises(Misuse):
            await child.write_line(b"a\nb")
        await child.write_line(b"x" * 10)
        assert await child.read_line() == b"x" * 10


async def test_a_slow_reader_holds_the_child_back_and_loses_nothing() -> None:
    """4 MB of lines nobody reads at first: the child is paused, exits only when read, and every line arrives."""
    async with toy("for i in range(40_000): out.write(b'%099d\\n' % i)", patience=Patience(drain=0.05)) as child:
        first = await child.read_line()
        with anyio.move_on_after(0.3) as early:
            await child.ended()
        assert early.cancelled_caught
        lines = [first, *await all_lines(child)]
    assert lines == [b"%099d" % i for i in range(40_000)]


async def test_a_writer_waits_for_a_child_that_does_not_read_and_is_freed_by_its_end() -> None:
    """A full pipe is no memory leak: writing waits, and the ending releases the writer."""
    async with toy("print('up', flush=True); time.sleep(120)", patience=Patience(eof=0.05, term=5, kill=5)) as child:
        await child.read_line()
        async with anyio.create_task_group() as group:

            async def write() -> None:
                with pytest.raises(PeerUnreachable):  # noqa: PT012 - the read must fail inside the block that closes
                    for _ in range(100):
                        await child.write_line(b"x" * 100_000)

            group.start_soon(write)
            await anyio.wait_all_tasks_blocked()
            await child.close()


async def test_output_closed_by_a_child_that_stays_is_an_ending_of_its_own() -> None:
    """Nothing more can come from it, so nobody waits; closing ends it."""
    async with toy("print('last', flush=True); os.close(1); time.sleep(120)") as child:
        assert await all_lines(child) == [b"last"]
        assert child.ending == Ending(cause=Cause.CLOSED_OUTPUT, exit_code=None)


@pytest.mark.req("OAP-044")
async def test_a_child_sees_only_the_environment_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is inherited: no PATH, no HOME, no secret of ours."""
    monkeypatch.setenv("SAYSO_TEST_SECRET", "secret")
    async with toy("print(sorted(os.environ.items()))", environment={"LC_CTYPE": "C.UTF-8", "ONE": "1"}) as child:
        assert await all_lines(child) == [b"[('LC_CTYPE', 'C.UTF-8'), ('ONE', '1')]"]


@pytest.mark.req("OAP-044")
async def test_a_child_inherits_no_descriptor() -> None:
    """Three pipes and nothing else, not even what was made inheritable: a database or a socket of ours stays ours."""
    with Path("/etc/passwd").open() as file:
        os.set_inheritable(file.fileno(), True)
        code = "print([n for n in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{n}')])"
        async with toy(code) as child:
            assert await all_lines(child) == [b"['0', '1', '2']"]


async def test_a_child_leads_its_own_group_and_session() -> None:
    """Ctrl-C at our terminal does not reach it; its end is ours to order."""
    async with toy("print(os.getpid() == os.getpgid(0) == os.getsid(0))") as child:
        assert await all_lines(child) == [b"True"]
        assert os.getpgid(0) != child.pid


@pytest.mark.parametrize("command", ["no-such-program-anywhere", "/etc/passwd", "/no/such/file", "/tmp"])
async def test_a_program_that_cannot_start_is_a_plain_refusal(command: str) -> None:
    """It names the program and what to do, and shows none of the arguments."""
    with pytest.raises(Refused) as caught:
        await start(Program(command=[command, "--token=secret"], environment={"KEY": "secret"}))
    assert (caught.value.refusal.code, caught.value.refusal.place) == ("cannot_start", command)
    assert "secret" not in str(caught.value)


async def test_a_program_whose_folder_is_gone_or_whose_arguments_cannot_be_passed_is_refused(tmp_path: Path) -> None:
    """Every failure of a start is the same typed refusal."""
    for how in ({"cwd": tmp_path / "gone"}, {"command": [sys.executable, "a\0b"]}):
        with pytest.raises(Refused) as caught:
            await start(Program(**{"command": [sys.executable], "environment": {}, **how}))  # type: ignore[arg-type]
        assert caught.value.refusal.code == "cannot_start"


def test_a_program_does_not_show_its_secrets() -> None:
    """Neither arguments nor environment are in what a log line or a traceback would print."""
    assert repr(Program(command=["/bin/tool", "--token=secret"], environment={"KEY": "secret"})) == "Program(tool)"
