"""`sayso validate` as a command: its options in both spellings, what it prints where, and its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sayso.control.validator.shipped import FIXTURES, STORAGE

TRACES = FIXTURES / "traces"
SOUND, BROKEN = TRACES / "plain-run.jsonl", TRACES / "number-left-out.jsonl"
READ = STORAGE / "traces" / "read-an-object.jsonl"


def run(*words: object, data: bytes | None = None) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "sayso", "validate", *map(str, words)]
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.req("OAP-026", "OAP-215")
def test_exit_codes_say_valid_invalid_called_wrongly_and_not_judged(tmp_path: Path) -> None:
    """Could not judge outranks invalid; what could be judged is told all the same."""
    gone = tmp_path / "gone.jsonl"
    assert run(SOUND)[0] == 0
    assert run(SOUND, BROKEN)[0] == 1
    assert run()[0] == run("--mode", "kind", SOUND)[0] == run("--shout", SOUND)[0] == 2
    code, out, err = run(SOUND, gone, BROKEN)
    assert (code, out.count("\n"), err) == (3, 3, f"{gone} cannot be read: No such file or directory.\n")
    assert run(tmp_path)[0] == 3


@pytest.mark.req("OAP-025")
def test_both_formats_name_phase_code_envelope_and_line() -> None:
    """For programs an array of file, valid, diagnostics; for people the same in a line."""
    code, out, err = run("--format", "json", SOUND, BROKEN)
    fault = {
        "phase": "semantic",
        "code": "sequence_gap",
        "index": 3,
        "line": 4,
        "envelope_id": "e3",
        "message": "event 3 comes right after event 1",
    }
    assert json.loads(out) == [
        {"file": str(SOUND), "valid": True, "diagnostics": []},
        {"file": str(BROKEN), "valid": False, "diagnostics": [fault]},
    ]
    assert (code, err) == (1, "")
    told = (
        f"{BROKEN}: invalid\n  semantic sequence_gap (envelope 3, line 4, id e3): event 3 comes right after event 1\n"
    )
    assert run(SOUND, BROKEN) == (1, f"{SOUND}: valid (5 envelopes)\n{told}", "")


@pytest.mark.req("OAP-021")
@pytest.mark.parametrize("dash", ["-", "--"])
def test_every_option_has_both_spellings(dash: str) -> None:
    """One dash or two; the defaults are strict and for people."""
    foreign = TRACES / "foreign-type-tolerated.jsonl"
    assert run(foreign)[0] == run(f"{dash}mode", "strict", foreign)[0] == 1
    assert run(f"{dash}mode", "tolerant", f"{dash}format", "json", foreign)[0] == 0
    assert run(f"{dash}provider", TRACES / "inference.jsonl")[0] == 0
    assert run(TRACES / "inference.jsonl")[0] == 1
    assert run(f"{dash}pack", STORAGE, f"{dash}pack", FIXTURES / "packs" / "sound", READ)[0] == 0


@pytest.mark.req("OAP-034", "OAP-026")
def test_a_refused_pack_stops_before_any_trace_is_read() -> None:
    """Its code and folder on standard error; a program gets the findings of the phase `load`."""
    folder = FIXTURES / "packs" / "no-gate"
    code, out, err = run("--pack", folder, SOUND)
    assert (code, out) == (3, "")
    assert err.startswith("The pack is refused: pack_ungated_type: ")
    code, out, _ = run("--format", "json", "--pack", folder, SOUND)
    (report,) = json.loads(out)
    assert (code, report["valid"], [each["phase"] for each in report["diagnostics"]]) == (3, False, ["load"])


def test_a_trace_comes_from_standard_input_too() -> None:
    """By the name of a dash, and no control character of it reaches the terminal."""
    assert run("-", data=SOUND.read_bytes()) == (0, "-: valid (5 envelopes)\n", "")
    code, out, err = run("-", data=b'{"id":"\\u001b[2J"}')
    assert (code, "\x1b" in out, err) == (1, False, "")


@pytest.mark.req("OAP-215")
def test_help_says_what_a_trace_is_and_what_the_codes_mean() -> None:
    """Without reading anything."""
    code, out, err = run("--help")
    assert (code, err) == (0, "")
    assert all(
        word in out for word in ("--format", "--mode", "--pack", "--provider", "one envelope a line", "Exit codes")
    )


@pytest.mark.req("OAP-026")
def test_standard_input_is_one_trace_and_may_be_closed() -> None:
    """Named twice it is a usage error; closed it could not be read."""
    code, out, err = run("-", "-", data=SOUND.read_bytes())
    assert (code, out, "give - once" in err) == (2, "", True)
    shell = f"{sys.executable} -m sayso validate - <&-"
    done = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"", b"- cannot be read: it is closed.\n")


@pytest.mark.req("OAP-034")
def test_a_refusal_without_a_place_names_none() -> None:
    """One pack given twice is refused as a whole."""
    code, _, err = run("--pack", STORAGE, "--pack", STORAGE, SOUND)
    assert (code, "pack_id_collision" in err, "None" in err) == (3, True, False)
