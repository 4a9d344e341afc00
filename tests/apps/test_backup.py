"""A home in one file: whole, private, taken while others write, and restored whole or not at all."""

from __future__ import annotations

import io
import stat
import tarfile
import threading
from pathlib import Path

import pytest

from sayso.apps.backup import restore_home, write_backup
from sayso.apps.home import Home, open_home
from sayso.apps.keys import LEDGER, log_name, make_keys
from sayso.core.refusal import Refused
from sayso.ledger.append import append
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.record import Draft
from sayso.store.open import open_store
from sayso.store.vault import Vault
from tests.journeys.house import sayso

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with locked keys, some receipts, settings and a sample world of its own."""
    place = open_home(tmp_path / "home", is_world=False)
    make_keys(Vault(place.path, place.clock), "correct horse")
    (place.path / "settings.toml").write_text('zone = "America/Toronto"\n')
    (place.path / "world").mkdir(mode=0o700)
    (place.path / "world" / "clock.json").write_text("{}")
    with open_store(place.database, place.clock) as store:
        for _ in range(5):
            store.run(lambda unit: append(unit, log_of(place), Draft(kind="test.done", actor="a")))
    return place


def log_of(place: Home) -> str:
    return log_name(Vault(place.path, place.clock))


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


async def test_a_home_comes_back_as_it_was(home, tmp_path):
    """Keys under their passphrase, receipts that verify, settings; not the world, and nobody else can read it."""
    write_backup(home, tmp_path / "b.tar")
    restored = tmp_path / "again"
    restore_home(tmp_path / "b.tar", restored)
    assert files(restored) == {
        "sayso.db", "settings.toml", "keys/principal.json", "keys/ledger.json", "keys/agent.json",
    }  # fmt: skip
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "b.tar", *restored.rglob("*"), restored)}
    assert modes == {0o600, 0o700}
    place = open_home(restored, is_world=False)
    vault = Vault(place.path, place.clock)
    assert set(vault.unlock("correct horse")) == {"principal", "ledger"}
    with open_store(place.database, place.clock) as store:
        ledger = Ledger(store, log_of(place), place.clock)
        await ledger.checkpoint(vault.signer(LEDGER))
        assert (await ledger.verify(vault.public(LEDGER))).records == 5


async def test_a_backup_taken_while_others_write_is_of_one_instant(home, tmp_path):
    """Its receipts are an unbroken beginning of the log."""
    written = threading.Event()
    stop = threading.Event()

    def write() -> None:
        with open_store(home.database, home.clock) as store:
            while not stop.is_set():
                store.run(lambda unit: append(unit, log_of(home), Draft(kind="test.done", actor="a")))
                written.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert written.wait(30)
        write_backup(home, tmp_path / "b.tar")
    finally:
        stop.set()
        writer.join()
    restore_home(tmp_path / "b.tar", tmp_path / "again")
    place = open_home(tmp_path / "again", is_world=False)
    with open_store(place.database, place.clock) as store:
        records = await Ledger(store, log_of(place), place.clock).records()
    assert [record.seq for record in records] == list(range(len(records)))
    assert len(records) > 5


async def test_nothing_is_written_over(home, tmp_path):
    """Neither a file that is there nor a home in use; and nothing is left beside them."""
    (tmp_path / "b.tar").write_text("mine")
    with pytest.raises(Refused) as taken:
        write_backup(home, tmp_path / "b.tar")
    write_backup(home, tmp_path / "c.tar")
    with pytest.raises(Refused) as used:
        restore_home(tmp_path / "c.tar", home.path)
    assert (taken.value.refusal.code, used.value.refusal.code) == ("file_exists", "home_not_empty")
    assert (tmp_path / "b.tar").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"home", "b.tar", "c.tar"}


def archive(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w") as made:
        for member, data in members:
            member.size = len(data)
            made.addfile(member, io.BytesIO(data))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type = kind
    made.linkname = "/etc/passwd" if kind != tarfile.REGTYPE else ""
    return made


MANIFEST = (member("sayso-backup.json"), b'{"v":1,"taken_at":"2026-10-13T13:00:00Z","database":"file"}')


@pytest.mark.parametrize(
    "members",
    [
        [],
        [(member("settings.toml"), b"")],
        [(member("sayso-backup.json"), b"{}")],
        [(member("sayso-backup.json"), b'{"v":2,"taken_at":"2026-10-13T13:00:00Z","database":"file"}')],
        [MANIFEST, (member("../out"), b"x")],
        [MANIFEST, (member("/tmp/out"), b"x")],
        [MANIFEST, (member("keys/../../out"), b"x")],
        [MANIFEST, (member("link", tarfile.SYMTYPE), b"")],
        [MANIFEST, (member("link", tarfile.LNKTYPE), b"")],
        [MANIFEST, (member("fifo", tarfile.FIFOTYPE), b"")],
    ],
    ids=["empty", "bare", "wrong-manifest", "newer", "up", "absolute", "up-inside", "symlink", "hardlink", "fifo"],
)
async def test_what_is_no_backup_makes_no_home(tmp_path, members):
    """A name that leads elsewhere, a link, or something else altogether: refused, and nothing is there after."""
    with pytest.raises(Refused) as no:
        restore_home(archive(tmp_path / "b.tar", *members), tmp_path / "again")
    assert (no.value.refusal.code, [path.name for path in tmp_path.iterdir()]) == ("not_a_backup", ["b.tar"])


async def test_a_damaged_backup_makes_no_home(home, tmp_path):
    """Cut short or filled with something else."""
    write_backup(home, tmp_path / "b.tar")
    whole = (tmp_path / "b.tar").read_bytes()
    with tarfile.open(tmp_path / "b.tar") as made:
        last = made.getmembers()[-1]
    assert last.name == "sayso.db"
    # Cut where the database begins, an archive reads as one that has none.
    for damaged in (whole[: len(whole) // 2], whole[: last.offset], b"\x00" * 10_240, b"no archive"):
        (tmp_path / "d.tar").write_bytes(damaged)
        with pytest.raises(Refused) as no:
            restore_home(tmp_path / "d.tar", tmp_path / "again")
        assert no.value.refusal.code == "not_a_backup"
    assert not (tmp_path / "again").exists()


async def test_a_backup_is_not_kept_in_the_home_it_is_of(home, tmp_path):
    """It would be lost with it, and the next one would hold it too. A home that is a file is no empty folder."""
    (tmp_path / "link").symlink_to(home.path)
    for target in (home.path / "b.tar", home.path / "keys" / "b.tar", tmp_path / "link" / "b.tar"):
        with pytest.raises(Refused) as no:
            write_backup(home, target)
        assert (no.value.refusal.code, target.exists()) == ("backup_inside_home", False)
    write_backup(home, tmp_path / "b.tar")
    with pytest.raises(Refused) as no:
        restore_home(tmp_path / "b.tar", tmp_path / "b.tar")
    assert no.value.refusal.code == "home_not_empty"


async def test_the_commands_say_what_they_did_and_what_comes_next(home, tmp_path):
    """As a person runs them."""
    file, again = str(tmp_path / "b.tar"), str(tmp_path / "again")
    made = sayso("backup", file, "--home", str(home.path))
    done = sayso("restore", file, "--home", again)
    listed = sayso("receipts", "list", "--home", again, "--json")
    assert (made.code, done.code, listed.out.count("test.done")) == (0, 0, 5)
    assert f"sayso receipts verify --home {again}" in done.out
    assert "may be done already" in done.out
    nowhere = sayso("backup", str(tmp_path / "x.tar"), "--home", str(tmp_path / "nowhere"))
    assert (nowhere.code, "There is no home" in nowhere.err, (tmp_path / "nowhere").exists()) == (1, True, False)
