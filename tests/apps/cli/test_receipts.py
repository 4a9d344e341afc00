"""`sayso receipts` as it is typed: what it prints, and the code it exits with."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import update

from sayso.apps.cli import main
from sayso.core.clock import ManualClock
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.record import Link
from sayso.proof.note import write_verifier_key
from sayso.proof.sealed import Cost
from sayso.store.open import open_store
from sayso.store.statements import statement
from sayso.store.tables import ledger as tables
from sayso.store.vault import Vault
from sayso.testing.store import START, fresh_file
from tests.journeys.house import sayso
from tests.journeys.terminal import at_terminal
from tests.ledger.logs import KEY_SET, SIGNED, draft

CHEAP = Cost(memory_kib=64, passes=1, lanes=1)
LOG = "sayso/test"
Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with an unlocked ledger key, three records, two disclosures, one signed document."""
    place = tmp_path / "home"
    place.mkdir(mode=0o700)
    fresh_file(place / "sayso.db")
    Vault(place, ManualClock(START)).create("ledger")
    fill(place)
    return place


def fill(place: Path, log: str = LOG) -> None:
    clock = ManualClock(START)
    with open_store(place / "sayso.db", clock) as store:
        ledger = Ledger(store, log, clock)

        def write(unit: object) -> None:
            ledger.put_evidence_in(unit, KEY_SET.media_type, KEY_SET.data)
            ledger.put_evidence_in(unit, SIGNED.media_type, SIGNED.data, verified_by=KEY_SET.sha256)
            ledger.append_in(unit, draft(1))
            ledger.append_in(unit, draft(2, Link("mandate", SIGNED.sha256)))
            ledger.disclose_in(unit, draft(3))
            ledger.disclose_in(unit, draft(4))

        store.run(write)
        asyncio.run(ledger.seal())


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path) -> Say:
    """Types `sayso receipts ...` with this home; gives code, output and errors."""
    monkeypatch.setenv("SAYSO_HOME", str(home))
    monkeypatch.delenv("SAYSO_CLOCK_FILE", raising=False)
    monkeypatch.delenv("SAYSO_DATABASE_URL", raising=False)

    def typed(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["sayso", "receipts", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main.run()
        out, err = capsys.readouterr()
        return int(ended.value.code), out, err

    return typed


def exported(say: Say, folder: Path) -> tuple[Path, Path]:
    """An export with evidence and a checkpoint in it, and the published key."""
    assert say("checkpoint", "--out", folder / "kept.note")[0] == 0
    assert say("checkpoint", "--key-out", folder / "log.key")[0] == 0
    assert say("export", folder / "log.jsonl", "--with-evidence")[0] == 0
    return folder / "log.jsonl", folder / "log.key"


def test_list_prints_a_line_for_each_receipt(say: Say) -> None:
    """Place, time, kind, actor and facts, oldest first."""
    code, out, err = say("list")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "     0  2026-10-13 13:00:00Z  act.done             agent:planner  act=hold_slot call=c_1",
        "     1  2026-10-13 13:00:00Z  act.done             agent:planner  act=hold_slot call=c_2",
        f"     2  2026-10-13 13:00:00Z  batch.sealed         ledger  first=0 root={root_of(say)} size=2",
    ]
    assert [line.split()[0] for line in say("list", "--last", 1)[1].splitlines()] == ["2"]
    assert [line.split()[0] for line in say("list", "--kind", "batch")[1].splitlines()] == ["2"]


def root_of(say: Say) -> str:
    return str(json.loads(say("show", 2, "--json")[1])["body"]["root"])


def test_list_as_json_prints_the_bytes_that_were_hashed(say: Say) -> None:
    """One record a line, in canonical form."""
    records = [json.loads(line) for line in say("list", "--json")[1].splitlines()]
    assert [(record["seq"], record["kind"]) for record in records] == [
        (0, "act.done"),
        (1, "act.done"),
        (2, "batch.sealed"),
    ]


def test_show_prints_one_receipt_in_full(say: Say) -> None:
    """Links and facts a line each, and the hashes that chain it."""
    code, out, _ = say("show", 1)
    assert code == 0
    assert re.sub(r"[\w-]{43}", "HASH", out).splitlines() == [
        "record 1 of sayso/test",
        "  kind      act.done",
        "  at        2026-10-13T13:00:00.000000Z",
        "  actor     agent:planner",
        "  article   II",
        "  inputs    HASH",
        "  link      mandate HASH",
        "  fact      act = hold_slot",
        "  fact      call = c_2",
        "  prev      HASH",
        "  hash      HASH",
    ]


def test_show_prints_disclosures_and_proofs(say: Say) -> None:
    """The proof leads to the record that seals it."""
    out = say("show", 1, "--disclosure", "--proof")[1].splitlines()
    assert out[0] == "disclosure 1 of sayso/test"
    proof = json.loads(out[-1])
    assert (proof["sealed_by"], proof["index"], proof["size"], len(proof["path"])) == (2, 1, 2, 1)
    assert json.loads(say("show", 0, "--proof")[1].splitlines()[-1])["size"] == 3


def test_a_receipt_that_is_not_there_is_said_so(say: Say) -> None:
    """With what to type next."""
    code, out, err = say("show", 99)
    assert (code, out, err) == (1, "", "There is no receipt 99. See: sayso receipts list\n")


@pytest.mark.req("GTW-052", "GTW-061")
def test_an_export_is_verified_with_the_published_key_alone(say: Say, tmp_path: Path) -> None:
    """The last line is the one that scripts look for; no home is looked at."""
    log, key = exported(say, tmp_path)
    kept = tmp_path / "kept.note"
    code, out, err = say("verify", log, "--key", key, "--checkpoint", kept, "--home", tmp_path / "none")
    assert (code, err) == (0, "")
    assert re.sub(r"signed [^;]*Z", "signed TIME", out).splitlines() == [
        "log         sayso/test",
        "records     3, and 2 sealed disclosures",
        "checkpoint  size 3, signed TIME; no records came after it",
        "kept        size 3, signed TIME; this log is consistent with it",
        "evidence    2 documents, the signatures of 1 verified; 0 more are referred to by hash only",
        "receipts: 5 verified, chain intact",
    ]


@pytest.mark.req("GTW-052")
def test_verify_finds_a_flipped_byte_and_names_the_record(say: Say, tmp_path: Path) -> None:
    """Exit code 1, the record's number and the reason."""
    log, key = exported(say, tmp_path)
    log.write_bytes(log.read_bytes().replace(b'"c_2"', b'"c_3"'))
    code, out, err = say("verify", log, "--key", key)
    assert (code, err) == (1, "")
    assert out == "receipts: NOT intact, record 1: Record 1 was changed: record 2 names another hash for it\n"
    code, out, _ = say("verify", log, "--key", key, "--json")
    found = json.loads(out)
    assert (code, found["intact"], found["seq"], found["reason"]) == (1, False, 1, "changed")


def test_verify_as_json(say: Say, tmp_path: Path) -> None:
    """Everything the words say."""
    log, key = exported(say, tmp_path)
    found = json.loads(say("verify", log, "--key", key, "--json")[1])
    assert (found["intact"], found["receipts"], found["covered"], found["evidence"]) == (
        True,
        5,
        3,
        {"documents": 2, "signed": 1, "absent": 0},
    )


def test_verify_takes_the_key_as_a_jwk_too(say: Say, tmp_path: Path, home: Path) -> None:
    """A key set publishes keys in that form."""
    log, key = exported(say, tmp_path)
    key.write_text(json.dumps(Vault(home, ManualClock(START)).public("ledger").jwk()))
    assert say("verify", log, "--key", key)[0] == 0


@pytest.mark.req("GTW-052", "GTW-061")
def test_the_home_is_verified_where_it_is(say: Say) -> None:
    """With its own public key; and it says plainly that no checkpoint was signed yet."""
    code, out, _ = say("verify")
    assert code == 0
    assert "checkpoint  none: the chain is whole in itself" in out
    assert out.splitlines()[-1] == "receipts: 5 verified, chain intact"
    say("checkpoint")
    assert "checkpoint  size 3, signed" in say("verify")[1]


def test_a_change_in_the_database_is_found(say: Say, home: Path) -> None:
    """Whoever edits the file behind our back is found out."""
    with open_store(home / "sayso.db", ManualClock(START)) as store:
        row = statement(update(tables.ledger_record).where(tables.ledger_record.c.seq == 0).values(data=b"{}"))
        store.run(lambda unit: unit.execute(row))
    code, out, _ = say("verify")
    assert (code, out.split(":")[1]) == (1, " NOT intact, record 0")


@pytest.mark.parametrize("case", ["not an export", "other checkpoint", "other log", "bad key", "no home"])
def test_what_cannot_be_judged_is_neither_good_nor_bad(say: Say, tmp_path: Path, home: Path, case: str) -> None:
    """Exit code 3 and a sentence, never a verdict."""
    log, key = exported(say, tmp_path)
    arguments: list[object] = [log, "--key", key]
    if case == "not an export":
        log.write_text("hello\n")
    elif case == "other checkpoint":
        note = tmp_path / "kept.note"
        note.write_bytes(note.read_bytes().replace(b"head ", b"tail "))
        arguments += ["--checkpoint", note]
    elif case == "other log":
        key.write_text(write_verifier_key("sayso/other", Vault(home, ManualClock(START)).public("ledger")))
    elif case == "bad key":
        key.write_text("nonsense")
    else:
        arguments = ["--home", tmp_path / "none"]
    code, out, err = say("verify", *arguments)
    assert (code, err, out[:22]) == (3, "", "receipts: not judged. ")


def test_an_export_without_its_key_is_called_wrongly(say: Say, tmp_path: Path) -> None:
    """A key from inside the export would prove nothing."""
    log, _ = exported(say, tmp_path)
    code, _, err = say("verify", log)
    assert (code, "--key" in err) == (2, True)


def test_a_checkpoint_is_signed_once_the_passphrase_is_typed(home: Path) -> None:
    """A locked key asks, at the terminal alone; a wrong passphrase signs nothing, and neither does a pipe."""
    (home / "keys" / "ledger.json").unlink()
    Vault(home, ManualClock(START), cost=CHEAP).create("ledger", passphrase="correct horse")
    for typed, code in (("a guess", 1), ("correct horse", 0)):
        with at_terminal(["receipts", "checkpoint", "--home", str(home)]) as (terminal, child):
            terminal.wait_for("Passphrase of your keys: ")
            terminal.type(typed)
            said = terminal.rest()
            assert (child.wait(), typed in said, "sayso/test" in said) == (code, False, code == 0), said
    piped = sayso("receipts", "checkpoint", "--home", str(home), answers="correct horse\n")
    assert (piped.code, piped.out, "locked" in piped.err) == (1, "", True)


PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1


def heed_permissions() -> None:
    """Makes the administrator somebody like everybody, for whom a folder that cannot be written is one."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


def test_a_home_that_cannot_be_written_is_verified_all_the_same(home: Path, tmp_path: Path) -> None:
    """A backup, or a disk mounted read-only: what it says is judged, and nothing is left beside it or anywhere."""
    before = sorted(path.name for path in home.rglob("*"))
    temporary = tmp_path / "tmp"
    temporary.mkdir(mode=0o700)
    home.chmod(0o500)
    (home / "sayso.db").chmod(0o400)
    command = [sys.executable, "-m", "sayso", "receipts", "verify", "--home", str(home)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=heed_permissions,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    home.chmod(0o700)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["receipts: 5 verified, chain intact"]), done.stderr
    assert (sorted(path.name for path in home.rglob("*")), list(temporary.iterdir())) == (before, [])


def test_several_logs_are_told_apart(say: Say, home: Path) -> None:
    """One is chosen by name; without it the names are listed."""
    fill(home, "sayso/second")
    code, _, err = say("list")
    assert (code, "sayso/second, sayso/test" in err) == (1, True)
    assert say("list", "--log", "sayso/second")[0] == 0


def test_an_empty_home_says_what_to_do(say: Say, tmp_path: Path) -> None:
    """And looking for receipts makes no home."""
    code, _, err = say("list", "--home", tmp_path / "none")
    assert (code, "sayso ask" in err, (tmp_path / "none").exists()) == (1, True, False)


def test_it_runs_as_a_program(home: Path) -> None:
    """Through the console entry point, in a process of its own."""
    command = [sys.executable, "-m", "sayso", "receipts", "verify", "--home", str(home)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "receipts: 5 verified, chain intact"


def test_a_key_and_a_checkpoint_are_asked_for_apart(say: Say, tmp_path: Path) -> None:
    """One of two files would quietly not be written."""
    code, _, err = say("checkpoint", "--key-out", tmp_path / "key", "--out", tmp_path / "note")
    assert (code, "without --out" in err) == (2, True)
