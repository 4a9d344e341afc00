"""The terminal UI from its first moment: a frame at once, then everything slow, and the terminal back whatever happens.

Nothing but the standard library's quick parts is imported before the first frame is drawn (decision 0104).
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING, NamedTuple

from sayso.apps.tui.terminal import Terminal, is_there

if TYPE_CHECKING:
    from pathlib import Path

    from sayso.control.loop.contract import PermissionMode

__all__ = ("Launch", "launch")

_DONE, _REFUSED, _USAGE, _NOT_STARTED = 0, 1, 2, 3
_OPENER = "sayso.apps.tui.opening:open_wanted"
_NO_TERMINAL = (
    "sayso talks in a terminal, and here is none (or one that cannot place text).\n"
    "Without one: sayso run --agent PROMPT, or sayso ask 'Book my oil change Thursday around 1 PM'.\n"
    "All commands: sayso --help\n"
)
_NO_TEXTUAL = "The terminal UI needs the extra `tui`: pip install 'sayso[tui]'\nWithout it: sayso run --agent PROMPT\n"


class Launch(NamedTuple):
    """What was asked for on the command line; None is: as usual."""

    home: Path | None = None
    attach: str | None = None
    backend: str | None = None
    config: Path | None = None
    model: str | None = None
    permission: PermissionMode = "ask"
    resume: str | None = None
    workspace: Path | None = None
    theme: str | None = None


def launch(asked: Launch | None = None, *, opener: str = _OPENER) -> int:
    """Runs the terminal UI to its end; the exit code. 2: no terminal. 3: it could not start. 1: it failed inside.

    `opener` names what opens the agent, as `module:function` (`seat.OpensSeat`); it is imported behind the first frame.
    """
    if not is_there():
        sys.stderr.write(_NO_TERMINAL)
        return _USAGE
    if _is_missing("textual"):
        sys.stderr.write(_NO_TEXTUAL)
        return _NOT_STARTED
    terminal = Terminal()
    log = ""
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, _stop)  # until the screen stands, which leaves in order
    try:
        terminal.begin()
        # A key is seen with the next frame; at Textual's usual 60 a second that alone can take 17 ms.
        os.environ.setdefault("TEXTUAL_FPS", "120")
        home = _home(asked)
        log = os.path.join(home, "log", "tui.log")
        code: int
        said: str
        running = importlib.import_module("sayso.apps.tui.running")
        code, said = running.run(terminal, asked or Launch(), opener, home, log)
    except KeyboardInterrupt:
        code, said = _REFUSED, "Stopped."
    except Exception as failure:  # noqa: BLE001 - the one place where a failure before the screen stands becomes a sentence
        code, said = _NOT_STARTED, _sentence(failure, terminal, log)
    finally:
        terminal.give_back()
    with contextlib.suppress(OSError):  # the terminal may be gone: then nobody reads it
        stream = sys.stdout if code == _DONE else sys.stderr
        stream.write(f"{said}\n" if said else "")
        stream.flush()
    if code == _DONE:
        # All that had to be closed is closed, and the terminal is given back: taking a whole interpreter apart by its
        # book would keep the person's shell waiting ten times longer than everything before it.
        os._exit(_DONE)
    return code


def _stop(*about: object) -> None:
    """A polite kill is as good as Ctrl-C: the terminal is given back."""
    raise KeyboardInterrupt


def _home(asked: Launch | None) -> str:
    if asked is not None and asked.home is not None:
        return str(asked.home)
    return os.environ.get("SAYSO_HOME") or os.path.join(os.path.expanduser("~"), ".sayso")


def _is_missing(name: str) -> bool:
    from importlib.util import find_spec  # noqa: PLC0415 - only once a terminal is there

    return find_spec(name) is None


def _sentence(failure: Exception, terminal: Terminal, log: str) -> str:
    """What a person reads; where it broke stands in the log."""
    import traceback  # noqa: PLC0415 - slow to import, and hardly ever needed

    terminal.note(traceback.format_exc())
    if type(failure).__name__ in ("Refused", "PeerRefused", "PeerUnreachable"):
        return str(failure)
    if isinstance(failure, OSError):
        return f"sayso could not start: {failure.strerror or failure} ({failure.filename or 'the terminal'})"
    return f"sayso failed inside ({type(failure).__name__}). Where: {log if terminal.log is not None else 'not kept'}"
