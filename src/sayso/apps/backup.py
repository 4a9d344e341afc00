"""A home in one file, and back: keys as they are sealed, the database as it stands, settings.

It can be taken while everything runs. What is in it is what is in the home: keys under their passphrase stay under it;
keys without one are readable by whoever has the file, so the file is its owner's alone. The sample world is left out.
A home is restored whole into a folder that is new or empty, or not at all.
"""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Literal

import msgspec

from sayso.apps.home import DATABASE_FILE, Home
from sayso.core import strictjson
from sayso.core.instants import write_instant
from sayso.core.refusal import Refused
from sayso.store.engines.sqlite_copy import copy_database
from sayso.world.places import world_folder

__all__ = ("Manifest", "restore_home", "write_backup")

MANIFEST = "sayso-backup.json"
_LEFT_OUT = (".lock", ".sock", "-wal", "-shm", "-journal")
_LARGEST_MANIFEST = 65_536
_END = 2 * tarfile.BLOCKSIZE


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a backup says of itself. `database` is `file`, or `elsewhere` where Postgres has it."""

    v: Literal[1]
    taken_at: str
    database: str


def write_backup(home: Home, target: Path) -> Manifest:
    """Writes the backup of a home to the new file `target`, which appears whole or not at all.

    Refused: `file_exists`, `backup_inside_home`, `cannot_write`.
    """
    if target.resolve().is_relative_to(home.path.resolve()):
        raise Refused.because(
            "backup_inside_home",
            f"{target} is inside the home itself",
            help="Name a place elsewhere: what is in the home is lost with it.",
        )
    if target.exists():
        raise Refused.because("file_exists", f"{target} is there already", help="Name a file that is new.")
    elsewhere = "://" in home.database
    manifest = Manifest(v=1, taken_at=write_instant(home.clock.now()), database="elsewhere" if elsewhere else "file")
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".sayso-backup-") as name:
            folder = Path(name)
            whole = folder / "backup.tar"
            with _new_file(whole) as file, tarfile.open(fileobj=file, mode="w") as archive:
                _add_bytes(archive, MANIFEST, strictjson.encode(manifest))
                for path in _kept(home.path):
                    with suppress(FileNotFoundError):  # it went since it was listed: others are at work
                        archive.add(path, arcname=str(path.relative_to(home.path)), recursive=False)
                if not elsewhere and Path(home.database).is_file():
                    copy = folder / DATABASE_FILE
                    copy_database(Path(home.database), copy)
                    archive.add(copy, arcname=DATABASE_FILE)
            os.link(whole, target)
    except FileExistsError:
        raise Refused.because("file_exists", f"{target} is there already", help="Name a file that is new.") from None
    except OSError as error:
        raise Refused.because("cannot_write", f"{target} cannot be written: {error.strerror}") from None
    return manifest


def restore_home(source: Path, home: Path) -> Manifest:
    """Makes a home of a backup. Refused: `home_not_empty`, `not_a_backup`, `cannot_write`."""
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise Refused.because(
            "home_not_empty", f"{home} is not empty", help="Restore into a new folder: --home FOLDER."
        )
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent, prefix=".sayso-restore-") as name:
            folder = Path(name) / "home"
            folder.mkdir(mode=0o700)
            manifest = _unpack(source, folder)
            if home.exists():
                home.rmdir()
            folder.rename(home)
    except OSError as error:
        raise Refused.because("cannot_write", f"{home} cannot be made: {error.strerror}") from None
    return manifest


def _new_file(path: Path) -> BinaryIO:
    """A file that was not there before, readable by its owner alone from its first byte on."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _kept(home: Path) -> Iterator[Path]:
    """Files and folders of a home, folders first; no database, no lock, no link, and not the sample world."""
    world, database = world_folder(home), home / DATABASE_FILE
    for path in sorted(home.rglob("*")):
        if path == world or world in path.parents or path.is_symlink() or path.name.startswith(database.name):
            continue
        if path.is_dir() or (path.is_file() and not path.name.endswith(_LEFT_OUT)):
            yield path


def _add_bytes(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), 0o600
    archive.addfile(member, io.BytesIO(data))


def _unpack(source: Path, folder: Path) -> Manifest:
    try:
        with tarfile.open(source, mode="r:") as archive:
            first = archive.next()
            if first is None or first.name != MANIFEST or first.size > _LARGEST_MANIFEST:
                raise _no_backup(source)
            data = archive.extractfile(first)
            manifest = strictjson.decode(b"" if data is None else data.read(), Manifest)
            for member in archive:
                if member.name != MANIFEST:
                    _put(archive, member, folder, source)
            # Cut between two members an archive reads as a shorter one: without its end it is not whole.
            if not _ends(source, archive.offset):
                raise _no_backup(source)
    except (tarfile.TarError, Refused, EOFError, ValueError) as error:
        if isinstance(error, Refused) and error.refusal.code == "not_a_backup":
            raise
        raise _no_backup(source) from None
    return manifest


def _ends(source: Path, offset: int) -> bool:
    """Whether an archive's two empty blocks stand there, which come after its last member."""
    with source.open("rb") as file:
        file.seek(offset)
        return file.read(_END) == b"\0" * _END


def _put(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path, source: Path) -> None:
    """One member, readable by its owner alone; a name that leads elsewhere, or anything but a file, is refused."""
    place = PurePosixPath(member.name)
    if place.is_absolute() or ".." in place.parts or not place.parts or not (member.isfile() or member.isdir()):
        raise _no_backup(source)
    target = folder / place
    if member.isdir():
        target.mkdir(mode=0o700, parents=True, exist_ok=True)
        return
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    data = archive.extractfile(member)
    if data is None:
        raise _no_backup(source)
    with _new_file(target) as file:
        shutil.copyfileobj(data, file)


def _no_backup(source: Path) -> Refused:
    return Refused.because("not_a_backup", f"{source} is no backup of a home, or is damaged")
