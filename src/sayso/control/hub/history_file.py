"""The file of bindings: one line a record, appended, for its owner alone (OAP-081).

Several hubs of one person may append to one file, so every append holds a lock, reads what others have added, and cuts
a torn tail: a line without its end was never written. A whole line that is no record says nothing and is left alone.
The file is not synced to the disk: it is a convenience, and what a killed process wrote is there.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock

import anyio.to_thread

from sayso.control.hub.history import Binding, History, HistoryPage, latest_bindings, write_binding
from sayso.core.refusal import Refused

__all__ = ("HistoryFile",)

_LF = b"\n"


class HistoryFile(History):
    """Opens, or makes, a file of mode 0600. `issuer` marks the cursors this hub gives out.

    Refused `file_not_private`: others may read or write it, or it is no plain file.
    """

    def __init__(self, path: Path, *, issuer: str) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise Refused.because("file_not_private", f"{path} cannot be opened: {why}", place=str(path)) from error
        status = os.fstat(self._descriptor)
        if status.st_mode & 0o077 or status.st_uid != os.geteuid():
            os.close(self._descriptor)
            close_it = f"Close it first: chmod 600 {path}"
            raise Refused.because("file_not_private", f"{path} is open to others", place=str(path), help=close_it)
        super().__init__(issuer=issuer)
        self._lock = Lock()
        self._read_to = 0
        self._locked(self._catch_up)

    def close(self) -> None:
        """Nothing is appended afterwards."""
        os.close(self._descriptor)

    async def append(self, binding: Binding) -> None:
        await anyio.to_thread.run_sync(self._locked, lambda: self._append(binding))

    async def latest(self, session_id: str) -> Binding | None:
        await anyio.to_thread.run_sync(self._locked, self._catch_up)
        return await super().latest(session_id)

    async def page(
        self, is_live: Callable[[str], bool], *, limit: int | None = None, cursor: str | None = None
    ) -> HistoryPage:
        await anyio.to_thread.run_sync(self._locked, self._catch_up)
        return await super().page(is_live, limit=limit, cursor=cursor)

    def _locked(self, work: Callable[[], None]) -> None:
        with self._lock:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            try:
                work()
            finally:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _append(self, binding: Binding) -> None:
        self._catch_up()
        data = write_binding(binding) + _LF
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        self._catch_up()

    def _catch_up(self) -> None:
        """Reads what is new; the lock is held, so a line without its end is a torn one and is cut."""
        size = os.fstat(self._descriptor).st_size
        if size < self._read_to:
            self._latest, self._read_to = {}, 0
        data = os.pread(self._descriptor, size - self._read_to, self._read_to)
        whole, _, torn = data.rpartition(_LF)
        if torn:
            os.ftruncate(self._descriptor, size - len(torn))
        if whole or data:
            self._latest = latest_bindings(self._latest, whole.split(_LF))
        self._read_to = size - len(torn)
