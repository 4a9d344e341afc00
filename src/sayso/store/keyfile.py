"""One private key in one file: its shape, and how it is read and written so that nobody else can.

Files are `<folder>/<name>.json`, 0600 in a folder 0700, owned by whoever runs us, written whole or not at all, and
never overwritten. A file or folder that others could read or change is refused and not repaired: what stood open is to
be taken as known. When a key may be used is `vault`'s.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from sayso.core.refusal import Corrupt, Refused
from sayso.core.strictjson import decode, encode
from sayso.proof.keys import Jwk, KeyKind, PublicKey
from sayso.proof.sealed import Sealed

__all__ = (
    "FILE_VERSION",
    "NAME",
    "KeyFile",
    "Protection",
    "check_private",
    "key_path",
    "read_key_file",
    "write_key_file",
)

FILE_VERSION = 1
NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")
Protection: TypeAlias = Literal["none", "passphrase", "keyring"]
_LARGEST_FILE = 65_536


class KeyFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One key as it lies on disk: `secret` for protection none, `sealed` for the others."""

    v: int
    name: str
    kind: KeyKind
    protection: Protection
    public: Jwk
    secret: str | None = None
    sealed: Sealed | None = None

    def __repr__(self) -> str:
        return f"KeyFile({self.name}, {self.protection})"

    @property
    def label(self) -> str:
        """What the box says it holds, so that one key's box opens under no other key's name."""
        return f"sayso key {self.name} {self.kind} {PublicKey.from_jwk(self.public).thumbprint}"


def key_path(folder: Path, name: str) -> Path:
    """Where a key of that name lies."""
    return folder / f"{name}.json"


def read_key_file(folder: Path, name: str) -> KeyFile:
    """Reads one key. Refused `unknown_key`, `file_not_private`; Corrupt: damaged, or another key's file."""
    path = key_path(folder, name)
    if not NAME.fullmatch(name) or not os.path.lexists(path):
        raise Refused.because("unknown_key", f"There is no key {name!r} in {folder}")
    check_private(folder, folder.lstat(), is_folder=True)
    data = _read_private(path)
    try:
        file = decode(data, KeyFile)
        PublicKey.from_jwk(file.public)
    except Refused as refused:
        raise Corrupt(f"a key file that cannot be read ({refused.refusal.code})", str(path)) from None
    if file.v != FILE_VERSION or file.name != name:
        raise Corrupt("a key file of another version or name", str(path))
    if (file.secret is None) is (file.protection == "none") or (file.sealed is None) is not (file.protection == "none"):
        raise Corrupt("a key file that does not hold what its protection says", str(path))
    return file


def write_key_file(folder: Path, file: KeyFile, draft_name: str) -> None:
    """Puts a whole file in place and on the disk, or none. Refused `key_exists`, `file_not_private`.

    `draft_name` is a name nobody else uses. The draft is linked into place, not renamed: a link never replaces.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    check_private(folder, folder.lstat(), is_folder=True)
    draft = folder / f".{draft_name}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(encode(file) + b"\n")
            out.flush()
            os.fsync(out.fileno())
        os.link(draft, key_path(folder, file.name))
    except FileExistsError:
        raise Refused.because(
            "key_exists", f"There is a key {file.name} already", help="A key is never overwritten; choose another name."
        ) from None
    finally:
        draft.unlink()
    _sync_folder(folder)


def check_private(path: Path, status: os.stat_result, *, is_folder: bool) -> None:
    is_plain = stat.S_ISDIR(status.st_mode) if is_folder else stat.S_ISREG(status.st_mode)
    if not is_plain or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        mode = "700" if is_folder else "600"
        raise Refused.because(
            "file_not_private",
            f"{path} is not yours alone",
            help=f"If nobody else has read it: chmod {mode} {path}. Else make new keys.",
        )


def _read_private(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise Refused.because("file_not_private", f"{path} cannot be opened: {error.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        check_private(path, os.fstat(descriptor), is_folder=False)
        data = file.read(_LARGEST_FILE + 1)
    if len(data) > _LARGEST_FILE:
        raise Corrupt("a key file far too large", str(path))
    return data


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
