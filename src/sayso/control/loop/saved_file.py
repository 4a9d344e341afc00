"""One conversation's file: its lines, how they are read back, and the one writer it has at a time (OAP-164, wf 45).

A line is a step and what is true behind it: when it was written, how many messages were said so far, and at which byte
the last line stands that says what the conversation is called and which model it runs with. So a list needs the last
line and that one, however long the file is. Lines are only ever added. A line without its end was never written; a
whole line that is none of ours, or contradicts those before it, makes the file damaged.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import anyio
import anyio.to_thread
import structlog

from sayso.control.loop.conversations import (
    FORMAT,
    SPEAKERS,
    Closed,
    KeptConversation,
    ModelSwitched,
    Opened,
    Retelling,
    Said,
    Step,
    Titled,
    title_of,
)
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Natural, Text, Wire
from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.refusal import Misuse, Refused

__all__ = (
    "LINE_LIMIT",
    "Line",
    "Place",
    "SavedConversation",
    "Shown",
    "damaged",
    "gone",
    "read_conversation",
    "read_line",
)

LINE_LIMIT = 64 * 1024 * 1024
"""Bytes of one line; the longest message that can be submitted has 16 MiB."""
_LF = b"\n"
_SHOWING = (Opened, Titled, ModelSwitched)

_log = structlog.get_logger(__name__)


class Shown(Wire, frozen=True, kw_only=True):
    """What a list says of a conversation."""

    model_ref: Text
    title: Maybe[Text] = UNSET
    workspace: Maybe[Text] = UNSET


class Line(Wire, frozen=True, kw_only=True):
    """One line. `said` counts messages, this one included; `shown_at` is the byte where the last line with `shown`
    begins: this one, if the step opens, names or switches.
    """

    at_ms: int
    said: Natural
    shown_at: Natural
    shown: Maybe[Shown] = UNSET
    step: Step


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file has got to, as far as the next line needs it."""

    end: int = 0
    said: int = 0
    shown_at: int = 0
    shown: Shown | None = None

    def line(self, step: Step, at_ms: int) -> Line:
        """The step as the next line."""
        shows = isinstance(step, _SHOWING)
        return Line(
            at_ms=at_ms,
            said=self.said + isinstance(step, Said),
            shown_at=self.end if shows else self.shown_at,
            shown=_shown(self.shown, step) if shows else UNSET,
            step=step,
        )

    def behind(self, line: Line, size: int) -> Place:
        """Where it has got to once this line of so many bytes was added."""
        return Place(self.end + size, line.said, line.shown_at, line.shown or self.shown)


def _shown(before: Shown | None, step: Step) -> Shown:
    match step:
        case Opened(model_ref=model_ref, workspace=workspace):
            return Shown(model_ref=model_ref, workspace=workspace)
        case Titled(title=title) if before is not None:
            return Shown(model_ref=before.model_ref, title=title, workspace=before.workspace)
        case ModelSwitched(model_ref=model_ref) if before is not None:
            return Shown(model_ref=model_ref, title=before.title, workspace=before.workspace)
    raise Misuse("a conversation is opened before all else")


def damaged(name: str, why: str, *, line: int | None = None) -> Refused:
    """The refusal of a file that cannot be read."""
    place = f"{name}.jsonl" if line is None else f"{name}.jsonl line {line}"
    what = f"the saved conversation is damaged: {why}"
    begin_another = "Begin a new conversation; the file can be removed."
    return Refused.because("unsupported_feature", what, reason="conversation_damaged", place=place, help=begin_another)


def read_line(data: bytes, name: str, number: int | None = None) -> Line:
    """One line without its end. Refused `unsupported_feature`: `conversation_damaged`, `conversation_newer`."""
    try:
        return strictjson.decode(data, Line, depth=strictjson.MAX_DEPTH)
    except Refused as refused:
        if _format_of(data) > FORMAT:
            raise _newer(name) from None
        where = f" at {refused.refusal.place}" if refused.refusal.place else ""
        # What a bad line holds is not repeated: it may be anything.
        raise damaged(name, f"a record does not have its shape{where}", line=number) from None


def _format_of(data: bytes) -> int:
    try:
        value = strictjson.parse(data, depth=strictjson.MAX_DEPTH)
    except Refused:
        return 0
    step = value.get("step") if isinstance(value, dict) else None
    said = step.get("format") if isinstance(step, dict) else None
    return said if isinstance(said, int) else 0


def _newer(name: str) -> Refused:
    what = "the saved conversation was written by a newer version"
    update = "Use that version, or begin a new conversation."
    return Refused.because("unsupported_feature", what, reason="conversation_newer", place=f"{name}.jsonl", help=update)


def read_conversation(descriptor: int, name: str) -> tuple[KeptConversation, Place]:
    """Reads a file line by line, from its start to its last whole line. A file without one is
    `conversation_gone`: nothing was ever kept in it. Refused as `read_line`, too.
    """
    told, place, number, at_ms = Retelling(name), Place(), 0, 0
    with open(os.dup(descriptor), "rb", buffering=1 << 20) as file:
        file.seek(0)
        while (data := file.readline(LINE_LIMIT + 1)).endswith(_LF):
            number += 1
            line = read_line(data[:-1], name, number)
            try:
                told.hear(line.step)
            except ValueError as error:
                raise damaged(name, str(error), line=number) from None
            due = place.line(line.step, line.at_ms)
            if (due.said, due.shown_at, due.shown) != (line.said, line.shown_at, line.shown):
                raise damaged(name, "a record contradicts those before it", line=number)
            place, at_ms = place.behind(line, len(data)), line.at_ms
    if len(data) > LINE_LIMIT:
        raise damaged(name, "a record is longer than any", line=number + 1)
    if not number:
        raise gone(name)
    return told.conversation(at_ms), place


def gone(name: str) -> Refused:
    """The refusal of a conversation that is not there."""
    what = "there is no saved conversation of this name"
    begin_another = "Begin a new conversation."
    return Refused.because(
        "unsupported_feature", what, reason="conversation_gone", place=f"{name}.jsonl", help=begin_another
    )


class SavedConversation:
    """An `OpenConversation` over a locked file. Lines are written by one thread of its own, each with one call, in the
    order they were kept; the file is closed, and the lock with it, once that thread is done.
    """

    def __init__(self, descriptor: int, native_id: str, clock: Clock, place: Place) -> None:
        self._descriptor = descriptor
        self._native_id = native_id
        self._clock = clock
        self._place = place
        self._size = place.end
        self._writer = ThreadPoolExecutor(1, "conversation")
        self._last: Future[None] | None = None
        self._why: str | None = None
        self._is_closed = False

    @property
    def native_id(self) -> str:
        return self._native_id

    def keep(self, step: Step) -> None:
        if self._is_closed:
            raise Misuse("a closed conversation takes no steps")
        if isinstance(step, Opened) != (self._place.shown is None):
            raise Misuse("a conversation is opened once, before all else")
        if isinstance(step, Said) and step.message.role not in SPEAKERS:
            raise Misuse("results are kept one by one, and nothing of the system is")
        self._add(step)
        shown = self._place.shown
        untitled = shown is not None and shown.title is UNSET
        if untitled and isinstance(step, Said) and step.message.role == "user" and (title := title_of(step.message)):
            self._add(Titled(title=title))

    async def written(self) -> None:
        if self._last is not None and not self._last.done():
            await anyio.to_thread.run_sync(self._last.result, abandon_on_cancel=True)
        if self._why is not None:
            raise Refused.because(
                "internal",
                f"the conversation could not be saved: {self._why}",
                reason="conversation_not_saved",
                place=f"{self._native_id}.jsonl",
                help="Make room, and reopen the conversation.",
            )

    async def synced(self) -> None:
        if not self._is_closed:
            self._queue(self._sync)
        await self.written()

    async def close(self) -> None:
        if self._is_closed:
            return
        self._add(Closed())
        self._is_closed = True
        self._queue(self._sync)
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._release)
        if self._why is not None:
            _log.error("conversation_not_saved", conversation=self._native_id, why=self._why)

    def _add(self, step: Step) -> None:
        line = self._place.line(step, int(self._clock.now().timestamp() * 1000))
        data = strictjson.encode(line) + _LF
        self._place = self._place.behind(line, len(data))
        self._queue(lambda: self._write(data))

    def _queue(self, work: Callable[[], None]) -> None:
        self._last = self._writer.submit(self._attempt, work)

    # --- in the writer's thread ---

    def _attempt(self, work: Callable[[], None]) -> None:
        """The first failure is the last thing that happens to the file: a line behind a missing one would lie."""
        if self._why is not None:
            return
        try:
            work()
        except OSError as error:
            self._why = error.strerror or type(error).__name__
            os.ftruncate(self._descriptor, self._size)

    def _write(self, data: bytes) -> None:
        if len(data) > LINE_LIMIT or _is_too_deep(data):
            raise OSError(0, "a message is longer or deeper than what can be read back")
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        self._size += len(data)

    def _sync(self) -> None:
        os.fsync(self._descriptor)

    def _release(self) -> None:
        self._writer.shutdown()
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        os.close(self._descriptor)


def _is_too_deep(data: bytes) -> bool:
    """Whether the line could not be read back. Few lines have so many brackets that they must be looked at."""
    if data.count(b"{") + data.count(b"[") <= strictjson.MAX_DEPTH:
        return False
    try:
        strictjson.parse(data, depth=strictjson.MAX_DEPTH)
    except Refused:
        return True
    return False
