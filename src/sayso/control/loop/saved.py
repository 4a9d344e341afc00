"""Conversations in files, one each, for their owner alone (OAP-164, wf 45 and 46).

Every file is opened below a folder that is itself open, without following a link, and looked at before it is read:
a plain file, its owner's, closed to all others. Whoever writes one holds its lock, so that two sessions never write the
same conversation, and a file that was removed meanwhile is noticed.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import anyio.to_thread
import structlog

from sayso.control.loop.conversations import ConversationEntry, KeptConversation, OpenConversation, Opened
from sayso.control.loop.saved_file import (
    LINE_LIMIT,
    Line,
    Place,
    SavedConversation,
    damaged,
    gone,
    read_conversation,
    read_line,
)
from sayso.core.clock import Clock
from sayso.core.refusal import Misuse, Refused

__all__ = ("SavedConversations",)

_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
_ENDING = ".jsonl"
_LF = b"\n"
_LOOK = 4096
"""Bytes that are read at first to find a line; most lines are shorter."""
# A pipe or a device in the folder must not make an open wait; nothing else is changed by it.
_SAFELY = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK

_log = structlog.get_logger(__name__)


class SavedConversations:
    """`Conversations` in a folder of mode 0700, a file of mode 0600 each.

    Refused `file_not_private`: the folder is another's, open to others, or no folder. Nothing is made before `begin`.
    """

    def __init__(self, folder: Path, *, clock: Clock) -> None:
        self._folder = folder
        self._clock = clock
        with self._opened_folder():
            pass

    async def begin(self, native_id: str, opened: Opened) -> OpenConversation:
        if not _NAME.fullmatch(native_id):
            raise Misuse(f"no name of a conversation: {native_id!r}")
        conversation = await anyio.to_thread.run_sync(self._begin, native_id)
        conversation.keep(opened)
        try:
            await conversation.written()
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._remove, native_id)
                await conversation.close()
            if isinstance(error, Refused):
                raise _not_begun(native_id, error.refusal.message) from None
            raise
        return conversation

    async def resume(self, native_id: str) -> tuple[KeptConversation, OpenConversation]:
        return await anyio.to_thread.run_sync(self._resume, native_id)

    def entries(self) -> list[ConversationEntry]:
        """Those in which something was said, newest first. It reads two lines of a file and not the file, and passes
        over what is damaged, not private or newer. Disk work: from an event loop, call it in a thread.
        """
        found: list[ConversationEntry] = []
        with self._opened_folder() as folder:
            names = [] if folder is None else os.listdir(folder)
            for name in names:
                if not name.endswith(_ENDING) or not _NAME.fullmatch(name.removesuffix(_ENDING)):
                    continue
                try:
                    entry = _entry(folder, name.removesuffix(_ENDING))
                except Refused as refused:
                    if refused.refusal.reason != "conversation_gone":
                        _log.warning("conversation_passed_over", file=name, reason=refused.refusal.reason)
                else:
                    found.append(entry)
        found = [each for each in found if each.messages]
        return sorted(found, key=lambda each: (-each.updated_at_ms, each.native_id))

    def load(self, native_id: str) -> KeptConversation:
        """One of them, to look at: nothing is locked or cut. Disk work. Refused as `resume`, but never in use."""
        with self._opened_folder() as folder, _opened(folder, native_id, os.O_RDONLY) as descriptor:
            return read_conversation(descriptor, native_id)[0]

    def forget(self, native_id: str) -> None:
        """Removes it, damaged or not. Refused: `unsupported_feature` (`conversation_gone`), `session_exists`
        (`conversation_in_use`).
        """
        with self._opened_folder() as folder:
            try:
                with _opened(folder, native_id, os.O_RDONLY) as descriptor:
                    _lock(descriptor, native_id)
                    os.unlink(f"{native_id}{_ENDING}", dir_fd=folder)
            except Refused as refused:
                if refused.refusal.reason != "conversation_not_private":
                    raise
                # Nobody of ours writes to what is no file of ours; a link is removed, and not what it leads to.
                os.unlink(f"{native_id}{_ENDING}", dir_fd=folder)

    # --- in a thread ---

    def _begin(self, native_id: str) -> SavedConversation:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._opened_folder() as folder:
                descriptor = _made(folder, native_id)
        except OSError as error:
            raise _not_begun(native_id, error.strerror or type(error).__name__) from None
        except Refused as refused:
            if refused.refusal.code != "file_not_private":
                raise
            raise _not_begun(native_id, refused.refusal.message) from None
        return SavedConversation(descriptor, native_id, self._clock, Place())

    def _remove(self, native_id: str) -> None:
        """Takes back a file in which nothing stands; its lock is held."""
        with self._opened_folder() as folder, suppress(OSError):
            os.unlink(f"{native_id}{_ENDING}", dir_fd=folder)

    def _resume(self, native_id: str) -> tuple[KeptConversation, OpenConversation]:
        with (
            self._opened_folder() as folder,
            _opened(folder, native_id, os.O_RDWR | os.O_APPEND) as found,
        ):
            _lock(found, native_id)
            if not os.fstat(found).st_nlink:
                raise gone(native_id)
            conversation, place = read_conversation(found, native_id)
            os.ftruncate(found, place.end)
            # The copy shares the lock, which lasts until it is closed too.
            return conversation, SavedConversation(os.dup(found), native_id, self._clock, place)

    @contextmanager
    def _opened_folder(self) -> Iterator[int | None]:
        """The folder; None where there is none."""
        try:
            descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            yield None
            return
        except OSError as error:
            raise self._not_private(error.strerror or type(error).__name__) from None
        try:
            status = os.fstat(descriptor)
            if status.st_mode & 0o077 or status.st_uid != os.geteuid():
                raise self._not_private("it is open to others")
            yield descriptor
        finally:
            os.close(descriptor)

    def _not_private(self, why: str) -> Refused:
        what = f"the folder of conversations cannot be used: {why}"
        close_it = f"Close it first: chmod 700 {self._folder}"
        return Refused.because("file_not_private", what, place=str(self._folder), help=close_it)


def _made(folder: int | None, name: str) -> int:
    """A new file under its lock."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | _SAFELY
    try:
        descriptor = os.open(f"{name}{_ENDING}", flags, 0o600, dir_fd=folder)
    except FileExistsError:
        what = "there is a saved conversation of this name"
        raise Refused.because("session_exists", what, reason="conversation_exists", place=f"{name}{_ENDING}") from None
    try:
        _lock(descriptor, name)
        if folder is not None:
            os.fsync(folder)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def _opened(folder: int | None, name: str, flags: int) -> Iterator[int]:
    """A conversation's file. Refused `unsupported_feature`: `conversation_gone`, `conversation_not_private`."""
    if folder is None or not _NAME.fullmatch(name):
        raise gone(name[:128])
    try:
        descriptor = os.open(f"{name}{_ENDING}", flags | _SAFELY, dir_fd=folder)
    except FileNotFoundError:
        raise gone(name) from None
    except OSError as error:
        raise _file_not_private(name, error.strerror or type(error).__name__) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077 or status.st_uid != os.geteuid():
            raise _file_not_private(name, "it is no plain file, or open to others")
        yield descriptor
    except OSError as error:
        raise damaged(name, f"it cannot be read: {error.strerror or type(error).__name__}") from None
    finally:
        os.close(descriptor)


def _lock(descriptor: int, name: str) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Refused.because(
            "session_exists",
            "another session writes this conversation",
            reason="conversation_in_use",
            place=f"{name}{_ENDING}",
            help="Close it there first, or begin a new conversation.",
        ) from None


def _entry(folder: int | None, name: str) -> ConversationEntry:
    with _opened(folder, name, os.O_RDONLY) as descriptor:
        last = _last_line(descriptor, name)
        shown = (last if last.shown else _line_at(descriptor, last.shown_at, name)).shown
    if not shown:
        raise damaged(name, "its last record points at none that says what it is")
    return ConversationEntry(
        native_id=name,
        title=shown.title or None,
        model_ref=shown.model_ref,
        updated_at_ms=last.at_ms,
        messages=last.said,
        workspace=shown.workspace or None,
    )


def _last_line(descriptor: int, name: str) -> Line:
    """The last whole line, found from the end by reading ever more of it."""
    size = os.fstat(descriptor).st_size
    look = _LOOK
    while True:
        look = min(look, size)
        data = os.pread(descriptor, look, size - look)
        end = data.rfind(_LF)
        start = data.rfind(_LF, 0, end) + 1 if end > 0 else 0
        if start or look >= size:
            break
        if look > LINE_LIMIT:
            raise damaged(name, "a record is longer than any")
        look = min(4 * look, 2 * LINE_LIMIT)
    if end < 0:
        raise gone(name)
    return read_line(data[start:end], name)


def _line_at(descriptor: int, offset: int, name: str) -> Line:
    """The line that begins there."""
    look, size = _LOOK, os.fstat(descriptor).st_size
    while offset < size:
        data = os.pread(descriptor, look, offset)
        end = data.find(_LF)
        if end >= 0:
            return read_line(data[:end], name)
        if len(data) < look or look > LINE_LIMIT:
            break
        look *= 4
    raise damaged(name, "its last record points at none")


def _file_not_private(name: str, why: str) -> Refused:
    what = f"the saved conversation cannot be used: {why}"
    close_it = "Make it a file of mode 0600 that is yours, or begin a new conversation."
    return Refused.because(
        "unsupported_feature", what, reason="conversation_not_private", place=f"{name}{_ENDING}", help=close_it
    )


def _not_begun(name: str, why: str) -> Refused:
    what = f"the conversation cannot be saved: {why}"
    return Refused.because("open_failed", what, reason="conversation_not_saved", place=f"{name}{_ENDING}")
