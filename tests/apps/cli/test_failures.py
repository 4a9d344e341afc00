"""Every failure is a sentence and a code; a traceback is for the one who asked for it."""

from __future__ import annotations

import pytest

from sayso.apps.cli.failures import say_failure
from sayso.core.refusal import Corrupt, PeerUnreachable, Refused

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


def test_debugging_lets_a_failure_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """For whoever looks for the bug."""
    monkeypatch.setenv("SAYSO_DEBUG", "1")
    with pytest.raises(KeyError):
        say_failure(KeyError("x"))
