"""The host's end: budgets are absolute, data in hand counts, and the trace lacks what was wrong on purpose."""

from __future__ import annotations

import sys
from collections import deque
from typing import Any

import anyio
import pytest

from sayso.control.conformance.checks import Gone, Silent
from sayso.control.conformance.child import ChildLauncher
from sayso.control.conformance.host import hosting
from sayso.control.conformance.port import Binding
from sayso.core import strictjson
from sayso.net.child import Program

pytestmark = pytest.mark.anyio

HEAD = {"protocol": "open-agent-protocol", "version": "0.1", "profile": "open-agent-protocol.agent-control-core"}


class Wire:
    """A port that a test holds the other end of."""

    binding = Binding(name="a wire", has_process=False)
    last_words = ""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self._lines: deque[bytes | None] = deque()
        self._more = anyio.Event()

    def give(self, *values: dict[str, Any] | bytes | None) -> None:
        self._lines.extend(strictjson.encode(value) if isinstance(value, dict) else value for value in values)
        self._more.set()

    async def send(self, line: bytes) -> None:
        self.sent.append(line)

    async def receive(self) -> bytes | None:
        while not self._lines:
            self._more = anyio.Event()
            await self._more.wait()
        return self._lines.popleft()

    async def close_session(self, session_id: str) -> None:
        raise NotImplementedError

    def hang_up(self) -> None:
        self.give(None)

    def terminate(self) -> None:
        raise NotImplementedError

    async def exit_code(self) -> int | None:
        return None


def asks(name: str) -> dict[str, Any]:
    return {**HEAD, "type": "capabilities.request", "id": name, "payload": {}}


def answers(name: str, to: str) -> dict[str, Any]:
    payload = {"error": {"code": "internal", "message": "no"}}
    return {**HEAD, "type": "error.response", "id": name, "in_reply_to": to, "payload": payload}


def event(name: str, number: int, run: str = "r") -> dict[str, Any]:
    scope = {"session_id": "s", "run_id": run}
    part = {"type": "text", "text": name}
    return {
        **HEAD,
        "type": "content.delta",
        "id": name,
        "sequence": number,
        **scope,
        "payload": {**scope, "part": part},
    }


@pytest.mark.req("OAP-129", "OAP-199")
async def test_a_budget_is_not_renewed_by_what_nobody_asked_for() -> None:
    """An endpoint that keeps talking cannot hold a correlation open."""
    wire = Wire()
    async with hosting(wire, 0.2) as host, anyio.create_task_group() as tasks:

        async def chat() -> None:
            number = 0
            while True:
                number += 1
                wire.give(event(f"e{number}", number))
                await anyio.sleep(0.01)

        tasks.start_soon(chat)
        with pytest.raises(Silent, match="did not come within"):
            await host.ask(asks("q"))
        tasks.cancel_scope.cancel()
    assert host.seen.runs["r"]


@pytest.mark.req("OAP-129", "OAP-199")
async def test_what_has_come_counts_though_the_budget_is_spent() -> None:
    """What came in the moment the budget ran out is an answer, however late it is looked at."""
    found = iter([None, "an answer"])
    async with hosting(Wire(), 0.0) as host:
        assert await host.until(lambda: next(found), "an answer") == "an answer"


async def test_an_end_ends_every_wait() -> None:
    """Whoever waits is told that nothing can come any more, long before the budget."""
    wire = Wire()
    async with hosting(wire, 3600) as host:
        wire.give(None)
        with pytest.raises(Gone, match="ended before"):
            await host.ask(asks("q"))


@pytest.mark.req("OAP-199")
async def test_faults_and_replays_leave_no_trace() -> None:
    """The validator sees neither a request that was wrong on purpose, nor its answer, nor an event that came again."""
    wire = Wire()
    async with hosting(wire, 3600) as host:
        wire.give(answers("a1", "right"), answers("a2", "wrong"), event("e1", 1), event("e2", 2))
        await host.ask(asks("right"))
        await host.ask(asks("wrong"), is_fault=True)
        await anyio.wait_all_tasks_blocked()
        again = host.replaying("r")
        wire.give(event("e1", 1), event("e1", 1, "another"))
        await anyio.wait_all_tasks_blocked()
        host.replayed("r")
        wire.give(event("e3", 3))
        await anyio.wait_all_tasks_blocked()
    names = [strictjson.parse(line)["id"] for line in host.trace]  # type: ignore[index,call-overload]
    assert sorted(names) == sorted(["right", "a1", "e1", "e2", "e1", "e3"])
    assert [value["id"] for value in again] == ["e1"]


@pytest.mark.req("OAP-199")
async def test_a_second_answer_to_a_fault_is_surplus() -> None:
    """The trace would show it for any other request; for these somebody has to count."""
    wire = Wire()
    async with hosting(wire, 3600) as host:
        wire.give(answers("a1", "wrong"), answers("a2", "wrong"))
        await host.ask(asks("wrong"), is_fault=True)
        await anyio.wait_all_tasks_blocked()
        assert host.surplus() == ["wrong"]


@pytest.mark.parametrize("line", [b"Welcome!", b'"text"', b"[1]", b'{"no": "kind"}', b'{"a":1,"a":2}', b"\xff"])
async def test_a_line_of_no_kind_is_kept_as_a_stray(line: bytes) -> None:
    """It is told, and shown in a form fit for a terminal."""
    wire = Wire()
    async with hosting(wire, 3600) as host:
        wire.give(line)
        await anyio.wait_all_tasks_blocked()
    (stray,) = host.seen.strays
    assert stray.isprintable()
    assert host.trace == []


@pytest.mark.req("OAP-129", "OAP-199")
async def test_a_flood_is_given_up() -> None:
    """What one connection may bring is bounded, and whoever waits is told that nothing more is read."""
    wire = Wire()
    async with hosting(wire, 3600, most_lines=10) as host:
        wire.give(*(event(f"e{number}", number) for number in range(1, 12)))
        with pytest.raises(Gone, match="ended before"):
            await host.ask(asks("q"))
    assert host.seen.strays[0].startswith("it floods: 11 lines came")


@pytest.mark.req("OAP-129", "OAP-199")
async def test_writing_is_inside_the_budget() -> None:
    """An endpoint that takes nothing cannot hold the host at a full pipe."""

    class Full(Wire):
        async def send(self, line: bytes) -> None:
            await anyio.sleep_forever()

    async with hosting(Full(), 0.05) as host:
        with pytest.raises(Silent, match="did not take a line"):
            await host.ask(asks("q"))


@pytest.mark.req("OAP-127", "OAP-199")
@pytest.mark.parametrize(
    ("writes", "said"),
    [("b'a' * (16 * 2**20 + 1)", "over the bound"), ("b'[1]'", "its last line has no end")],
)
async def test_a_line_that_is_none_is_a_fault_of_the_endpoint(writes: str, said: str) -> None:
    """One over the bound, and a last one without its end: neither is passed over as a mere end."""
    words = [sys.executable, "-c", f"import sys; sys.stdout.buffer.write({writes})"]
    async with ChildLauncher(Program(command=words, environment={})).connect() as port, hosting(port, 60) as host:
        with pytest.raises(Gone):
            await host.look(lambda: None, "anything")
    assert said in host.seen.strays[0]
