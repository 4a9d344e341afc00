"""Small files of a home that only their owner reads: read whole, written whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sayso.core.refusal import Refused

__all__ = ("locked", "read_private", "write_whole")


def read_private(path: Path, largest: int) -> bytes | None:
    """The bytes of a file that is ours alone; None where there is none. Refused `file_not_private`: a link, a file
    that others may read, one of somebody else, or one larger than `largest`.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _not_private(path, f"{path} cannot be opened: {error.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
            raise _not_private(path, f"{path} is not yours alone")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(largest + 1)
    finally:
        os.close(descriptor)
    if len(data) > largest:
        raise _not_private(path, f"{path} is far too large to be what it should be")
    return data


def write_whole(path: Path, data: bytes) -> None:
    """Replaces a file in one step, 0600, on the disk before its name changes; a crash leaves the old one or the new."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
        raise


@contextlib.contextmanager
def locked(path: Path, *, waits: bool = True) -> Iterator[None]:
    """Waits until no other process is in the same block over the same path. The file stays: it is nothing but a lock.
    Blocks its thread, so never on the event loop where another process may hold it for long; unless it `waits`, it
    raises `BlockingIOError` instead.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _not_private(path: Path, message: str) -> Refused:
    return Refused.because(
        "file_not_private",
        message,
        place=str(path),
        help=f"If nobody else has read it: chmod 600 {path}. Else remove it and sign in again.",
    )
