"""Types a command as a person or a program would, in this process: a new one each time would cost a second."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path
from unittest import mock

from sayso.apps.cli import main
from sayso.apps.home import open_home
from sayso.apps.keys import make_keys
from sayso.core import strictjson
from sayso.store.vault import Vault
from tests.journeys.house import Ran

PASSPHRASE = "the cat sat on it"


def made(folder: Path, passphrase: str | None) -> Path:
    """A home with its keys, under a passphrase or with none."""
    folder.mkdir(mode=0o700)
    make_keys(Vault(folder, open_home(folder, is_world=False).clock), passphrase)
    return folder


def run(home: Path, *arguments: str, code: int = 0, answers: str = "") -> Ran:
    """What a command printed, which has to end with this code; `answers` come from a pipe."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        mock.patch.object(sys, "argv", ["sayso", *arguments, "--home", str(home)]),
        mock.patch.object(sys, "stdin", io.StringIO(answers)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.suppress(SystemExit),
    ):
        ended = SystemExit(main.DONE)
        try:
            main.run()
        except SystemExit as raised:
            ended = raised
    said = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    done = Ran(int(ended.code or 0), *said)
    assert done.code == code, done.out + done.err
    return done


def kinds(home: Path) -> list[str]:
    """The kinds of receipt in a home's log, oldest first."""
    done = run(home, "receipts", "list", "--last", "1000", "--json")
    return [strictjson.parse(line.encode())["kind"] for line in done.out.splitlines()]
