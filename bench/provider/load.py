"""One question a tick, whether or not the last one is answered, and how long each answer took."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import httptools
import uvloop

_SENTENCE = "Sixteen words are what a model says here, so that an answer is short, and streamed"
WORDS = tuple(_SENTENCE.split())
"""One a piece; the first and the last are looked for in whatever form an answer comes."""
FIRST, _LAST = WORDS[0].encode(), WORDS[-1].encode()
_HEAD = (
    "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    "Accept: text/event-stream\r\nAuthorization: Bearer {key}\r\nContent-Length: {size}\r\n\r\n"
)
_CONNECTIONS = 4
_GIVES_UP = 60.0


@dataclass(frozen=True, slots=True)
class Question:
    """Where a request goes, and its body; `terminal` is in every answer that is whole."""

    port: int
    path: str
    body: bytes
    terminal: bytes
    key: str = "none"

    def but(self, **changes: Any) -> Question:
        """The same with something changed."""
        return replace(self, **changes)

    def bytes(self) -> bytes:
        head = _HEAD.format(path=self.path, port=self.port, key=self.key, size=len(self.body))
        return head.encode() + self.body


@dataclass(frozen=True, slots=True)
class Asked:
    """What one answer took, in seconds: to its first word, and to its end."""

    first: float
    whole: float


Ask = Callable[[], Awaitable[Asked]]


@dataclass(frozen=True, slots=True)
class Round:
    """Milliseconds: the median and the 99th percentile of whole answers, the median of first words, and what an answer
    took of the asked server's processor.
    """

    p50: float
    p99: float
    first: float
    processor: float = 0.0


class _Line(asyncio.Protocol):
    """One connection, one answer at a time."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.sent = question.bytes()
        self.parser = httptools.HttpResponseParser(self)
        self.done: asyncio.Future[Asked] | None = None
        self.lost = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def ask(self, began: float) -> asyncio.Future[Asked]:
        self.began, self.first, self.body = began, 0.0, b""
        self.done = asyncio.get_running_loop().create_future()
        self.transport.write(self.sent)
        return self.done

    def data_received(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(f"no HTTP: {error}")

    def on_body(self, body: bytes) -> None:
        self.body += body
        if not self.first and FIRST in self.body:
            self.first = time.perf_counter()

    def on_message_complete(self) -> None:
        now, done = time.perf_counter(), self.done
        if self.parser.get_status_code() != 200 or _LAST not in self.body or self.question.terminal not in self.body:
            self._fail(f"{self.parser.get_status_code()}: {self.body[-600:]!r}")
        elif done is not None and not done.done():
            done.set_result(Asked(self.first - self.began, now - self.began))

    def connection_lost(self, _error: Exception | None) -> None:
        self._fail("the server hung up")
        self.lost.set_result(None)

    def _fail(self, why: str) -> None:
        if self.done is not None and not self.done.done():
            self.done.set_exception(AssertionError(why))

    @property
    def is_usable(self) -> bool:
        return not self.transport.is_closing()


class Lines:
    """As many connections as it takes; one that is at rest is used before another is made."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._made: list[_Line] = []
        self._resting: list[_Line] = []

    async def open(self) -> None:
        self._resting = [await self._connect() for _ in range(_CONNECTIONS)]

    async def _connect(self) -> _Line:
        loop = asyncio.get_running_loop()
        _, line = await loop.create_connection(lambda: _Line(self._question), "127.0.0.1", self._question.port)
        self._made.append(line)
        return line

    async def ask(self) -> Asked:
        began = time.perf_counter()
        while self._resting and not self._resting[-1].is_usable:
            self._resting.pop()
        line = self._resting.pop() if self._resting else await self._connect()
        asked = await line.ask(began)
        self._resting.append(line)
        return asked

    async def close(self) -> None:
        for line in self._made:
            line.transport.abort()
        await asyncio.gather(*(line.lost for line in self._made))


async def tick(ask: Ask, rate: int, seconds: float) -> list[Asked]:
    """`rate` questions a second for so many seconds, evenly; every answer must be right."""
    loop, began = asyncio.get_running_loop(), time.perf_counter()
    asked: list[asyncio.Task[Asked]] = []
    for number in range(int(rate * seconds)):
        until = began + number / rate - time.perf_counter()
        if until > 0:
            await asyncio.sleep(until)
        asked.append(loop.create_task(ask()))  # type: ignore[arg-type]
    try:
        async with asyncio.timeout(_GIVES_UP):
            return list(await asyncio.gather(*asked))
    finally:
        for each in asked:
            each.cancel()
        await asyncio.gather(*asked, return_exceptions=True)


def round_of(asked: list[Asked]) -> Round:
    whole = sorted(each.whole for each in asked)
    first = sorted(each.first for each in asked)
    middle = len(asked) // 2
    return Round(1000 * whole[middle], 1000 * whole[int(len(asked) * 0.99)], 1000 * first[middle])


def load(question: Question, rate: int, seconds: float) -> Round:
    """Asks over HTTP."""

    async def run() -> list[Asked]:
        lines = Lines(question)
        await lines.open()
        try:
            return await tick(lines.ask, rate, seconds)
        finally:
            await lines.close()

    gc.collect()
    return round_of(uvloop.run(run()))
