"""Every failure is a sentence and a code; a traceback is for the one who asked for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.apps.cli.failures import say_failure
from sayso.core import strictjson
from sayso.core.refusal import Corrupt, PeerUnreachable, Refused
from tests.journeys.house import sayso

NO_KEYS = Refused.because("no_keys", "there are no keys", help="Make them: sayso keyapp init")
NO = Refused.because("consent_required", "there is no signature")


@pytest.mark.parametrize(
    ("failure", "code", "said"),
    [
        (NO, 1, "There is no signature.\n"),
        (NO_KEYS, 3, "There are no keys. Make them: sayso keyapp init\n"),
        (ExceptionGroup("tasks", [ExceptionGroup("more", [NO])]), 1, "There is no signature.\n"),
        (PeerUnreachable("shop.example", "no answer"), 1, "shop.example could not be reached: no answer\n"),
        (Corrupt("two hashes", "record 7"), 3, "Stored data contradicts itself: two hashes at record 7."),
        (PermissionError(13, "Permission denied", "/x"), 3, "Permission denied: /x\n"),
        (KeyError("a secret"), 3, "sayso failed inside (KeyError)."),
    ],
)
def test_a_failure_is_told_and_coded(
    failure: Exception, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it was and what to do next; of a bug only its kind, never its content."""
    assert say_failure(failure) == code
    err = capsys.readouterr().err
    assert (err.startswith(said), "a secret" in err) == (True, False)


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (
            NO_KEYS,
            {"failed": {"code": "no_keys", "message": "there are no keys", "help": "Make them: sayso keyapp init"}},
        ),
        (
            PeerUnreachable("shop.example", "no answer"),
            {"failed": {"code": "unreachable", "message": "shop.example could not be reached: no answer"}},
        ),
        (KeyError("a secret"), {"failed": {"code": "internal"}}),
    ],
)
def test_a_program_that_asked_for_json_gets_an_object(
    failure: Exception, said: dict[str, dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard output, alone; the sentence for people stays where it was."""
    say_failure(failure, as_json=True)
    out, err = capsys.readouterr()
    found = strictjson.parse(out.encode())
    assert isinstance(found, dict)
    assert ("a secret" in out, bool(err), out.count("\n")) == (False, True, 1)
    assert {"failed": {name: found["failed"][name] for name in said["failed"]}} == said


@pytest.mark.parametrize(
    ("arguments", "code", "failed"),
    [
        (["guest", "discover"], 3, "no_keys"),
        (["ask", "Book a haircut"], 3, "no_keys"),
        (["receipts", "list"], 1, "no_receipts"),
        (["guest", "slots"], 2, "called_wrongly"),
        (["guest", "no-such-command"], 2, "called_wrongly"),
    ],
)
def test_a_command_that_cannot_start_says_so_as_json(
    tmp_path: Path, arguments: list[str], code: int, failed: str
) -> None:
    """Whoever pipes it into a program never reads an empty line."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    where = [] if code == 2 else ["--home", str(home)]
    done = sayso(*arguments, *where, "--json")
    found = strictjson.parse(done.out.encode())
    assert isinstance(found, dict)
    assert (done.code, found["failed"]["code"], bool(done.err)) == (code, failed, True)


def test_debugging_lets_a_failure_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """For whoever looks for the bug."""
    monkeypatch.setenv("SAYSO_DEBUG", "1")
    with pytest.raises(KeyError):
        say_failure(KeyError("x"))
