"""Starting workers, letting them loose at the same moment, and hearing their answers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

WORKER = Path(__file__).with_name("worker.py")


class Worker:
    """One process, which has opened the store and waits for the word."""

    def __init__(self, command: str, location: str, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER), command, location, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> object:
        """The next thing it says."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the worker ended without a word"
        return json.loads(line)

    def go(self) -> None:
        """Lets it act."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        """SIGKILL: it gets no chance to tidy up."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def workers(command: str, location: str, each: Sequence[Sequence[str]]) -> Iterator[list[Worker]]:
    """A worker for each list of arguments, all of them ready."""
    started = [Worker(command, location, *arguments) for arguments in each]
    try:
        for worker in started:
            assert worker.hear() == "ready"
        yield started
    finally:
        for worker in started:
            worker.close()


def answers(command: str, location: str, each: Sequence[Sequence[str]]) -> list[object]:
    """What the workers answer, each in a process of its own, all let loose together."""
    with workers(command, location, each) as started:
        for worker in started:
            worker.go()
        return [worker.hear() for worker in started]
