"""Where a credential is kept: the keyring where there is one, else a file nobody else can read."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sayso.control.provider.credentials.auth_file import AUTH_FILE
from sayso.control.provider.credentials.files import write_whole
from sayso.control.provider.credentials.keyring_entries import SERVICE_VARIABLE, KeyringEntries
from sayso.control.provider.credentials.store import CredentialStore, Kept
from sayso.control.provider.credentials.values import ApiKey, OAuthToken
from sayso.core.refusal import Corrupt, Refused
from tests.control.provider.credentials.keyrings import Failing, Forgetting, Keeping, Silent, using

KEY = ApiKey(key="sk-secret")
TOKEN = OAuthToken(access_token="at-secret", refresh_token="rt-secret", expires_at=5, scope="a", base_url="https://x")


def modes(home: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in home.iterdir()}


@pytest.mark.req("OAP-150")
def test_without_a_keyring_it_is_a_file_of_0600_written_whole(tmp_path: Path) -> None:
    """Also under a careless umask, and nothing half-written is left beside it."""
    home = tmp_path / "home"
    before = os.umask(0)
    try:
        store = CredentialStore(home, {})
        assert (store.put("kimi", KEY), store.put("codex", TOKEN)) == ("file", "file")
    finally:
        os.umask(before)
    assert modes(home) == {AUTH_FILE: 0o600, f".{AUTH_FILE}.lock": 0o600}
    again = CredentialStore(home, {})
    assert again.get("kimi") == Kept(credential=KEY, keeper="file")
    assert again.get("codex") == Kept(credential=TOKEN, keeper="file")
    assert (again.remove("kimi"), again.remove("kimi"), again.get("kimi")) == (True, False, None)
    assert again.get("codex") is not None


@pytest.mark.req("OAP-150")
def test_a_keyring_is_asked_first_and_the_file_keeps_no_second_copy(tmp_path: Path) -> None:
    """What was in the file moves, under a service that tests can name."""
    CredentialStore(tmp_path, {}).put("kimi", ApiKey(key="old"))
    with using(Keeping()) as backend:
        store = CredentialStore(tmp_path, {SERVICE_VARIABLE: "sayso-test"})
        assert store.put("kimi", KEY) == "keyring"
        assert store.get("kimi") == Kept(credential=KEY, keeper="keyring")
        assert b"old" not in (tmp_path / AUTH_FILE).read_bytes()
        assert list(backend.entries) == [("sayso-test", f"{tmp_path.resolve()} provider kimi")]  # type: ignore[attr-defined]
        assert CredentialStore(tmp_path / "other", {SERVICE_VARIABLE: "sayso-test"}).get("kimi") is None
        assert CredentialStore(tmp_path, {}).get("kimi") is None
        assert (store.remove("kimi"), store.get("kimi")) == (True, None)


@pytest.mark.req("OAP-150", "OAP-154")
@pytest.mark.parametrize("backend", [Failing, Forgetting])
def test_a_keyring_that_fails_or_forgets_leaves_the_file(tmp_path: Path, backend: type[Keeping]) -> None:
    """The kind of failure is told, never its words, which may hold the secret."""
    with using(backend()):
        store = CredentialStore(tmp_path, {})
        assert store.put("kimi", KEY) == "file"
        assert store.get("kimi") == Kept(credential=KEY, keeper="file")
        assert store.trouble == ("RuntimeError" if backend is Failing else None)


@pytest.mark.req("OAP-150")
def test_what_was_kept_while_the_keyring_was_locked_is_the_newer(tmp_path: Path) -> None:
    """A key put in over ssh counts at the desk too, and a keyring that does not answer is not waited for."""
    keeping, silent = Keeping(), Silent()
    silent.answer.set()
    with using(keeping):
        assert CredentialStore(tmp_path, {}).put("kimi", ApiKey(key="old")) == "keyring"
    with using(Failing()):
        assert CredentialStore(tmp_path, {}).put("kimi", KEY) == "file"
    with using(silent):
        assert CredentialStore(tmp_path, {}).get("kimi") == Kept(credential=KEY, keeper="file")
        assert silent.asked == 0
    with using(keeping):
        store = CredentialStore(tmp_path, {})
        assert store.get("kimi") == Kept(credential=KEY, keeper="file")
        assert store.put("kimi", KEY) == "keyring"
        assert store.get("kimi") == Kept(credential=KEY, keeper="keyring")


@pytest.mark.req("OAP-150")
def test_a_file_that_cannot_be_used_is_told_before_the_keyring_is_changed(tmp_path: Path) -> None:
    """Half of it done would be a key nobody finds."""
    write_whole(tmp_path / AUTH_FILE, b"{")
    with using(Keeping()) as backend:
        with pytest.raises(Corrupt):
            CredentialStore(tmp_path, {}).put("kimi", KEY)
        assert backend.entries == {}  # type: ignore[attr-defined]


@pytest.mark.req("OAP-150")
def test_an_entry_somebody_else_wrote_is_not_ours(tmp_path: Path) -> None:
    """It is as if it were not there."""
    with using(Keeping()) as backend:
        backend.set_password("sayso", f"{tmp_path.resolve()} provider kimi", "{}")
        assert CredentialStore(tmp_path, {}).get("kimi") is None


@pytest.mark.req("OAP-150")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_file_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    """It is not repaired: what stood open is to be taken as known."""
    store = CredentialStore(tmp_path, {})
    store.put("kimi", KEY)
    (tmp_path / AUTH_FILE).chmod(mode)
    with pytest.raises(Refused) as refused:
        store.get("kimi")
    assert refused.value.refusal.code == "file_not_private"
    with pytest.raises(Refused):
        store.put("codex", TOKEN)


@pytest.mark.req("OAP-150")
def test_a_link_and_a_folder_are_no_credentials(tmp_path: Path) -> None:
    """Neither is followed nor overwritten."""
    other = tmp_path / "other"
    other.write_text("{}")
    other.chmod(0o600)
    home = tmp_path / "home"
    home.mkdir()
    (home / AUTH_FILE).symlink_to(other)
    with pytest.raises(Refused):
        CredentialStore(home, {}).get("kimi")
    (home / AUTH_FILE).unlink()
    (home / AUTH_FILE).mkdir()
    with pytest.raises(Refused):
        CredentialStore(home, {}).put("kimi", KEY)


@pytest.mark.req("OAP-150", "OAP-154")
@pytest.mark.parametrize(
    "data", [b"", b"{", b'{"v": 2, "providers": {}}', b'{"providers": {"kimi": {"kind": "sk-secret"}}}', b'{"more": 1}']
)
def test_a_damaged_file_is_told_without_its_words(tmp_path: Path, data: bytes) -> None:
    """And is not overwritten by the next login."""
    write_whole(tmp_path / AUTH_FILE, data)
    store = CredentialStore(tmp_path, {})
    for act in (lambda: store.get("kimi"), lambda: store.put("kimi", KEY)):
        with pytest.raises(Corrupt) as corrupt:
            act()
        assert "sk-secret" not in str(corrupt.value)
    assert (tmp_path / AUTH_FILE).read_bytes() == data


WRITER = """
import sys
from pathlib import Path
from sayso.control.provider.credentials.auth_file import AuthFile
from sayso.control.provider.credentials.values import ApiKey
home, name = Path(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for at in range(20):
    AuthFile(home).put(f"{name}{at}", ApiKey(key="k"))
"""


@pytest.mark.req("OAP-150")
def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    """Four of them, twenty entries each, one file."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    started = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name], **pipes) for name in "abcd"]
    assert [each.stdout.readline() for each in started] == [b"ready\n"] * 4
    for each in started:
        each.stdin.write(b"go\n")
        each.stdin.flush()
    assert [each.communicate() and each.returncode for each in started] == [0] * 4
    assert len(json.loads((tmp_path / AUTH_FILE).read_text())["providers"]) == 80


@pytest.mark.req("OAP-150", "OAP-154")
def test_what_a_killed_writer_left_is_forgotten_with_the_next_change(tmp_path: Path) -> None:
    """Half a file beside the whole one would keep a key that somebody signed out of."""
    store = CredentialStore(tmp_path, {})
    store.put("kimi", KEY)
    (tmp_path / f".{AUTH_FILE}.k1ll3d").write_text("sk-secret")
    assert store.remove("kimi")
    assert set(modes(tmp_path)) == {AUTH_FILE, f".{AUTH_FILE}.lock"}


@pytest.mark.req("OAP-150")
def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    """Whole or not at all: here the name is taken by a folder."""
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "y").touch()
    with pytest.raises(OSError, match="directory"):
        write_whole(tmp_path / "x", b"data")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.req("OAP-154")
def test_no_value_shows_its_secret() -> None:
    """Neither by itself nor inside what holds it."""
    for value in (KEY, TOKEN, Kept(credential=TOKEN, keeper="file"), [KEY], {"a": TOKEN}):
        assert "secret" not in f"{value!r} {value}"


@pytest.mark.req("OAP-150")
def test_a_keyring_that_does_not_answer_is_waited_for_once(tmp_path: Path) -> None:
    """Nobody else is kept waiting meanwhile; once it has answered it is asked again."""
    silent = Silent()
    entries = KeyringEntries(tmp_path, "sayso-test", patience=0.01)
    try:
        with using(silent):
            assert [entries.get("toy"), entries.get("toy"), entries.get("other")] == [None] * 3
            assert (silent.asked, entries.trouble) == (1, "TimeoutError")
            silent.answer.set()
            assert KeyringEntries(tmp_path, "sayso-test").put("toy", "k-1")
            assert any(entries.get("toy") == "k-1" for _ in range(1000))
    finally:
        silent.answer.set()
