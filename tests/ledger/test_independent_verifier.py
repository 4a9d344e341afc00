"""The verifier printed in docs/verify-receipts.md, run as a stranger would: its own file, its own process."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sayso.core.strictjson import encode
from sayso.ledger.rules.evidence import describe
from sayso.ledger.rules.record import Link
from sayso.proof.jws import sign_jws
from sayso.proof.keys import PrivateKey
from sayso.proof.note import write_verifier_key
from tests.ledger.logs import KEY, KEY_SET, LOG, OTHER_KEY, PureLog, draft, full_log

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "verify-receipts.md"
(SCRIPT,) = re.findall(r"^```python\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
FULL = full_log()
LINES = FULL.lines()
RECORDS = [at for at, line in enumerate(LINES) if line.startswith(b'{"record":')]
GOOD = "receipts: 20 verified, chain intact"


class Stranger:
    """Somebody with the script, the key and nothing of ours."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "verify_receipts.py").write_text(SCRIPT, encoding="utf-8")

    def run(self, lines: list[bytes], kept: bytes | None = None, key: PrivateKey = KEY) -> tuple[int, str]:
        (self.folder / "log.jsonl").write_bytes(b"".join(lines))
        (self.folder / "log.key").write_text(write_verifier_key(LOG, key.public) + "\n", encoding="utf-8")
        command = [sys.executable, "-I", "verify_receipts.py", "log.jsonl", "log.key"]
        if kept is not None:
            (self.folder / "kept.note").write_bytes(kept)
            command.append("kept.note")
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.stderr == ""
        return done.returncode, done.stdout.splitlines()[-1]


@pytest.fixture
def stranger(tmp_path: Path) -> Stranger:
    return Stranger(tmp_path)


@pytest.mark.req("GTW-052")
def test_it_is_short_and_needs_nothing_of_ours() -> None:
    """Under 120 lines, the standard library and `cryptography`."""
    tree = ast.parse(SCRIPT)
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    foreign = {name.split(".")[0] for name in imported} - sys.stdlib_module_names
    assert (len(SCRIPT.splitlines()) < 120, foreign) == (True, {"cryptography"})


@pytest.mark.req("GTW-052")
def test_it_verifies_a_whole_log(stranger: Stranger) -> None:
    """Records, batches, checkpoints and evidence, with and without a kept checkpoint."""
    assert stranger.run(LINES) == (0, GOOD)
    assert stranger.run(LINES, kept=FULL.notes[0]) == (0, GOOD)


@pytest.mark.req("GTW-052")
@pytest.mark.parametrize("seq", [0, 4, 10, 11])
def test_it_names_a_record_with_a_flipped_byte(stranger: Stranger, seq: int) -> None:
    """First, one before a checkpoint, one in the middle, and the very last."""
    at = RECORDS[seq]
    changed = LINES[at].replace(b'"agent:planner"', b'"agent:plannes"').replace(b'"ledger"', b'"ledges"')
    code, said = stranger.run([*LINES[:at], changed, *LINES[at + 1 :]])
    assert (code, said.split(":")[1]) == (1, f" NOT intact, record {seq}")


def _swap(lines: list[bytes]) -> list[bytes]:
    a, b = RECORDS[5], RECORDS[6]
    return [*lines[:a], lines[b], lines[a], *lines[b + 1 :]]


def _forge_evidence() -> list[bytes]:
    log = PureLog()
    forged = describe(sign_jws({"a": 1}, OTHER_KEY, typ="mandate+jwt").encode(), verified_by=KEY_SET.sha256)
    log.append(draft(1, Link("mandate", forged.sha256)))
    log.keep(KEY_SET, forged)
    return log.lines()


@pytest.mark.req("GTW-052")
@pytest.mark.parametrize(
    ("lines", "place"),
    [
        pytest.param([*LINES[: RECORDS[6]], *LINES[RECORDS[6] + 1 :]], "record 6", id="dropped"),
        pytest.param(_swap(LINES), "record 5", id="reordered"),
        pytest.param([*LINES[: RECORDS[6]], *LINES[RECORDS[5] :]], "record 6", id="inserted"),
        pytest.param(LINES[:-1], "record 12", id="last line missing"),
        pytest.param(LINES[: RECORDS[6]], "record 6", id="broken off"),
        pytest.param([*LINES[:6], *LINES[7:]], "line 7", id="disclosure dropped"),
        pytest.param([line.replace(b'"c_101"', b'"c_100"') for line in LINES], "record 3", id="disclosure changed"),
        pytest.param([line.replace(b"\\nhead ", b"\\nhead A") for line in LINES], "line 12", id="checkpoint changed"),
        pytest.param([line.replace(b'"v":1}}', b'"v":1,"v":1}}') for line in LINES], "line 1", id="member twice"),
        pytest.param(_forge_evidence(), "line 4", id="evidence forged"),
        pytest.param([], "line 1", id="empty"),
        pytest.param([b"\xff\n"], "line 1", id="no export"),
    ],
)
def test_it_finds_and_names_what_was_tampered_with(stranger: Stranger, lines: list[bytes], place: str) -> None:
    """The same places that our own verifier names."""
    code, said = stranger.run(lines)
    assert (code, said.split(":")[1]) == (1, f" NOT intact, {place}")


@pytest.mark.req("GTW-052")
def test_it_finds_a_cut_tail_and_a_rewritten_log_by_a_kept_checkpoint(stranger: Stranger) -> None:
    """Both are whole in themselves."""
    short, other = PureLog(), PureLog()
    short.append(*(draft(number) for number in range(3)))
    other.append(*(draft(number) for number in range(50, 60)))
    assert stranger.run(short.lines()) == (0, "receipts: 3 verified, chain intact")
    assert stranger.run(short.lines(), kept=FULL.notes[0])[1].startswith("receipts: NOT intact, record 3")
    assert stranger.run(other.lines(), kept=FULL.notes[0])[1].startswith("receipts: NOT intact, record 4")


def test_it_finds_checkpoints_by_another_key(stranger: Stranger) -> None:
    """Whoever publishes a key answers for its checkpoints alone."""
    assert stranger.run(LINES, key=OTHER_KEY)[0] == 1


def test_it_verifies_documents_signed_with_p256(stranger: Stranger) -> None:
    """Hosts may sign with ES256."""
    signer = PrivateKey.generate("P-256")
    keys = describe(encode({"keys": [signer.public.jwk()]}))
    signed = describe(sign_jws({"a": 1}, signer, typ="offer+jwt").encode(), verified_by=keys.sha256)
    log = PureLog()
    log.append(draft(1, Link("offer", signed.sha256)))
    log.keep(keys, signed)
    assert stranger.run(log.lines()) == (0, "receipts: 1 verified, chain intact")
