"""One private key in one file: private from its first moment, whole, never replaced, and never read when in doubt."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sayso.core.clock import ManualClock
from sayso.core.refusal import Corrupt, Refused
from sayso.proof.sealed import Cost
from sayso.store.vault import Vault

START = datetime(2026, 10, 13, 13, 0, tzinfo=UTC)
CHEAP = Cost(memory_kib=64, passes=1, lanes=1)
WORDS = "correct horse battery staple"


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path / "home", ManualClock(START), cost=CHEAP)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "keys"


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(Refused) as caught:
        call()
    return caught.value.refusal.code


def test_a_key_is_never_overwritten(vault: Vault, folder: Path) -> None:
    """The second of one name is refused and the file keeps its bytes."""
    vault.create("agent")
    before = (folder / "agent.json").read_bytes()
    for how in ({}, {"passphrase": WORDS}):
        assert refusal(lambda how=how: vault.create("agent", **how)) == "key_exists"  # type: ignore[misc]
    assert (folder / "agent.json").read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["agent.json"]


def test_of_many_processes_that_make_one_key_one_wins(tmp_path: Path) -> None:
    """Separate processes, one name: one makes it, the others are refused, and it is whole."""
    code = (
        "import sys; from pathlib import Path; from sayso.core.clock import SystemClock\n"
        "from sayso.core.refusal import Refused; from sayso.store.vault import Vault\n"
        "sys.stdin.readline()\n"
        "try: print(Vault(Path(sys.argv[1]), SystemClock()).create('agent').thumbprint)\n"
        "except Refused as refused: print(refused.refusal.code)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    for process in running:
        process.stdin.write("go\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
    said = sorted((process.communicate()[0].strip() for process in running), key="key_exists".__eq__)
    assert said == [Vault(tmp_path, ManualClock(START)).public("agent").thumbprint, *["key_exists"] * 3]


@pytest.mark.parametrize("name", ["", "Agent", "1a", "-a", "a_b", "a.b", "a/b", "..", "../agent", "a" * 64, "a\n", "ä"])
def test_a_name_that_is_no_plain_word_is_refused(vault: Vault, name: str) -> None:
    """No name leaves the folder or has two spellings."""
    assert refusal(lambda: vault.create(name)) == "bad_name"
    assert refusal(lambda: vault.signer(name)) == "unknown_key"
    assert refusal(lambda: vault.public(name)) == "unknown_key"


def test_files_are_private_from_the_first_moment(vault: Vault, folder: Path) -> None:
    """0600 in 0700, whatever the umask; a protected file holds no secret in the clear."""
    before = os.umask(0)
    try:
        vault.create("agent")
        vault.create("principal", passphrase=WORDS)
    finally:
        os.umask(before)
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in (folder, *folder.iterdir())}
    assert modes == {"keys": "0o700", "agent.json": "0o600", "principal.json": "0o600"}
    vault.unlock(WORDS)
    sealed = json.loads((folder / "principal.json").read_bytes())
    assert sorted(sealed) == ["kind", "name", "protection", "public", "sealed", "v"]
    assert vault.signer("principal").private_bytes().hex() not in (folder / "principal.json").read_bytes().hex()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o606, 0o610])
def test_a_file_that_others_can_reach_is_refused(vault: Vault, folder: Path, mode: int) -> None:
    """Read or written by others, it is not a secret any more; the sentence names the file and the repair."""
    vault.create("agent")
    (folder / "agent.json").chmod(mode)
    for call in (vault.signer, vault.public):
        with pytest.raises(Refused) as caught:
            call("agent")
        assert caught.value.refusal.code == "file_not_private"
        assert f"chmod 600 {folder / 'agent.json'}" in str(caught.value)


def test_a_folder_that_others_can_reach_is_refused(vault: Vault, folder: Path) -> None:
    """Whoever can write the folder can change keys; whoever can list it learns their names."""
    vault.create("agent")
    folder.chmod(0o750)
    for call in (lambda: vault.signer("agent"), lambda: vault.create("other"), vault.names):
        assert refusal(call) == "file_not_private"


def test_a_link_is_not_followed(vault: Vault, folder: Path, tmp_path: Path) -> None:
    """Neither a key that points elsewhere nor one that points nowhere."""
    vault.create("agent")
    (folder / "agent.json").rename(tmp_path / "elsewhere.json")
    (folder / "agent.json").symlink_to(tmp_path / "elsewhere.json")
    (folder / "gone.json").symlink_to(tmp_path / "nothing.json")
    assert [refusal(lambda n=n: vault.signer(n)) for n in ("agent", "gone")] == ["file_not_private"] * 2  # type: ignore[misc]


def changed(folder: Path, name: str, /, **members: object) -> None:
    path = folder / f"{name}.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **members}))


@pytest.mark.parametrize(
    "members",
    [
        {"v": 2},
        {"name": "other"},
        {"extra": 1},
        {"protection": "passphrase"},
        {"secret": None},
        {"secret": "AAAA"},
        {"secret": "not base64url"},
        {"secret": "A" * 43},
        {"public": {"kty": "OKP", "crv": "Ed25519", "x": "A" * 43}},
        {"kind": "P-256"},
    ],
)
def test_a_damaged_file_is_corrupt_and_says_which(vault: Vault, folder: Path, members: dict[str, object]) -> None:
    """Never another key, never a guess: the operator is told the file."""
    vault.create("agent")
    changed(folder, "agent", **members)
    with pytest.raises(Corrupt) as caught:
        vault.signer("agent")
    assert caught.value.place == str(folder / "agent.json")


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[]", b'{"v":1,"v":1}', b" " * 70_000])
def test_a_file_that_is_no_key_file_is_corrupt(vault: Vault, folder: Path, data: bytes) -> None:
    """Cut, empty, not JSON, or far too large."""
    vault.create("agent")
    (folder / "agent.json").write_bytes(data)
    with pytest.raises(Corrupt):
        vault.public("agent")
