"""A conversation of 10,000 messages: what it takes in memory and on the disk, and how long loading, listing and keeping
take, each beside what nobody can do without.

In memory the floor is the same records as plain dicts and lists. Loading's is reading the file and parsing each line
strictly; the product checks every record besides and builds the messages. Keeping's is one write of the same bytes for
each record, from the thread that made them.

`python -m bench.loop_conversation [--quick]` prints this.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import anyio
import jiter

from bench.measure import compare, report, stopwatch, table
from sayso.control.loop.conversations import CallEnded, CallRequested, Opened, Said, Step
from sayso.control.loop.saved import SavedConversations
from sayso.control.protocol.payloads.content import Message, TextPart, ToolCallPart, ToolResultPart
from sayso.core.clock import ManualClock

MESSAGES = 10_000
MEMORY, DISK, LOAD, LISTED, KEPT = (
    "conversation of 10,000 messages, MB in memory",
    "conversation of 10,000 messages, MB on the disk",
    "conversation of 10,000 messages, ms to load",
    "conversations listed a second, each of 10,000 messages",
    "steps of a conversation kept a second",
)


def make_talk() -> list[Step]:
    """A question, a turn that calls, the result, an answer: four messages of 5 steps, again and again."""
    steps: list[Step] = []
    for number in range(MESSAGES // 4):
        question = f"{number}: please look at this file and say what is in it, and whether it fits the one before"
        call = ToolCallPart(tool_call_id=f"c{number}", name="Read", arguments_json={"path": f"src/file{number}.py"})
        steps += [
            Said(message=Message(role="user", content=question)),
            Said(message=Message(role="assistant", content=(TextPart(text=f"I look at file {number}."), call))),
            CallRequested(tool_call_id=call.tool_call_id),
            CallEnded(result=ToolResultPart(tool_call_id=call.tool_call_id, result=f"{number} a line of text\n" * 20)),
            Said(message=Message(role="assistant", content=(TextPart(text=f"{number} holds lines of text. " * 6),))),
        ]
    return steps


class _Kept:
    """The conversation in a folder of its own, kept again for each round that asks for it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._steps = make_talk()
        self._count = 0
        self.rate()

    @property
    def conversations(self) -> SavedConversations:
        return SavedConversations(self._folder, clock=ManualClock(datetime(2026, 10, 13, 16, tzinfo=UTC)))

    @property
    def path(self) -> Path:
        return self._folder / "t1.jsonl"

    def rate(self) -> float:
        """Steps a second until all of them outlive this process."""
        self._count += 1

        async def keep() -> float:
            conversation = await self.conversations.begin(f"t{self._count}", Opened(model_ref="m"))
            with stopwatch() as watch:
                for step in self._steps:
                    conversation.keep(step)
                await conversation.written()
            await conversation.close()
            return watch.rate(len(self._steps))

        return anyio.run(keep)

    def floor_rate(self) -> float:
        """The same records written one by one by whoever has them."""
        lines = self.path.read_bytes().splitlines(keepends=True)
        descriptor = os.open(self._folder / "floor", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with stopwatch() as watch:
            for line in lines:
                os.write(descriptor, line)
        os.close(descriptor)
        return watch.rate(len(lines))

    def load(self) -> object:
        return self.conversations.load("t1")

    def parse(self) -> object:
        """Every record of the file that has a message or a result, as plain values."""
        with self.path.open("rb") as file:
            lines = (jiter.from_json(line, allow_inf_nan=False, catch_duplicate_keys=True) for line in file)
            return [step.get("message") or step["result"] for line in lines if _holds(step := line["step"])]

    def list_rate(self) -> float:
        with stopwatch() as watch:
            for _ in range(100):
                found = self.conversations.entries()
        return watch.rate(100 * len(found))

    def head_rate(self) -> float:
        """The floor: each file opened, and its two ends read."""
        names = [each for each in os.listdir(self._folder) if each.endswith(".jsonl")]
        with stopwatch() as watch:
            for _ in range(100):
                for name in names:
                    descriptor = os.open(self._folder / name, os.O_RDONLY)
                    size = os.fstat(descriptor).st_size
                    os.pread(descriptor, 4096, size - 4096)
                    os.pread(descriptor, 4096, 0)
                    os.close(descriptor)
        return watch.rate(100 * len(names))


def _holds(step: dict[str, object]) -> bool:
    return step["type"] in ("message", "call_result")


def _megabytes(load: Callable[[], object]) -> Callable[[], float]:
    def run() -> float:
        gc.collect()
        tracemalloc.start()
        held = load()
        gc.collect()
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        del held
        return size / 1e6

    return run


def _milliseconds(load: Callable[[], object]) -> Callable[[], float]:
    def run() -> float:
        with stopwatch() as watch:
            load()
        return 1000 * watch.seconds

    return run


def measure(*, quick: bool = False) -> list[dict[str, object]]:
    """Five tables; of memory, disk and loading less is better."""
    rounds = 3 if quick else 7
    with tempfile.TemporaryDirectory() as home:
        kept = _Kept(Path(home) / "sessions")
        text = sum(
            len(line) for line in kept.path.read_bytes().splitlines() if b'"message"' in line or b'_result"' in line
        )
        tables = [
            (MEMORY, {"loaded": _megabytes(kept.load), "plain values": _megabytes(kept.parse)}, "MB"),
            (DISK, {"file": lambda: kept.path.stat().st_size / 1e6, "records that hold one": lambda: text / 1e6}, "MB"),
            (LOAD, {"load": _milliseconds(kept.load), "read and parsed": _milliseconds(kept.parse)}, "ms"),
            (KEPT, {"kept": kept.rate, "os.write": kept.floor_rate}, "/s"),
            (LISTED, {"entries": kept.list_rate, "two reads a file": kept.head_rate}, "/s"),
        ]
        reports = []
        for title, cases, unit in tables:
            rows = compare(cases, rounds=rounds, unit=unit)
            floor = list(cases)[1]
            print(table(title, rows, floor=floor))
            reports.append(report(title, rows, floor=floor))
    return reports


if __name__ == "__main__":
    measure(quick="--quick" in sys.argv)
