"""Shell: one command, its surroundings, and what is told of its end."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sayso.control.loop.permitting import Preview, shown
from sayso.control.workspace.arguments import ShellArguments
from sayso.control.workspace.bubblewrap import Bubblewrap
from sayso.control.workspace.denial import bad_argument, cannot
from sayso.control.workspace.hidden import identity_of
from sayso.control.workspace.root import Root
from sayso.control.workspace.running import Bounds, Outcome, Running
from sayso.core.clock import Clock

__all__ = ("Surroundings", "describe_shell", "shell_environment", "shell_preview", "shell_result", "start_shell")

_PASSED = ("LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LOGNAME", "TZ", "USER")
"""What a command sees of our environment, besides PATH and HOME. No name that could hold a credential."""
_GIVEN = {
    "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "NO_COLOR": "1", "PAGER": "cat", "TERM": "dumb",
}  # fmt: skip
"""So that nothing waits for a terminal that is not there."""
_PLAIN_PATH = "/usr/local/bin:/usr/bin:/bin"
_END = 16 * 1024
_SIGNAL_CODES = 128

_BOUNDS = """\
Runs a command with bash in the workspace folder. It gets no input and no terminal; after `seconds` (120 unless said \
otherwise, at most 600) it is killed with all it started, and nothing goes on in the background after it ended. Its \
outputs come as one text, cut in the middle when longer than 32 KiB."""
_INSIDE = """\
It runs in a sandbox without a network: the workspace is read and write, the system is read-only, .git/config and \
.git/hooks are read-only; the home is empty but for tool chains, and what is written there or to /tmp is lost when the \
command ends."""
_OUTSIDE = """\
It is not sandboxed on this machine, so the person is asked about each command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What every command and search of a session runs in. Without `sandbox` it runs as the person themselves would."""

    root: Root
    home: Path
    shell: Path
    environment: Mapping[str, str]
    sandbox: Bubblewrap | None
    search_seconds: int
    clock: Clock


def describe_shell(*, is_sandboxed: bool) -> str:
    """What the model is told of Shell."""
    return f"{_BOUNDS} {_INSIDE if is_sandboxed else _OUTSIDE}"


def shell_environment(parent: Mapping[str, str], home: Path) -> dict[str, str]:
    """The environment of every command: a short list of names, and PATH without its relative parts."""
    passed = {name: parent[name] for name in _PASSED if name in parent}
    path = ":".join(each for each in parent.get("PATH", "").split(":") if each.startswith("/"))
    return {**_GIVEN, **passed, "PATH": path or _PLAIN_PATH, "HOME": str(home)}


def shell_preview(surroundings: Surroundings, arguments: ShellArguments) -> Preview:
    """The whole command, each of its lines marked, and where it would run."""
    _verify_command(arguments)
    command = shown(arguments.command).replace("\n", "\n> ")
    where = f"in {shown(str(surroundings.root.path))}, for at most {arguments.seconds} seconds"
    if surroundings.sandbox is not None:
        text = f"$ {command}\n\nSandboxed, {where}: no network, nothing of your home."
        return Preview("Run a command in the sandbox", text)
    text = f"$ {command}\n\nNot sandboxed, {where}: it can read, change and reach whatever you can."
    return Preview("Run a command, not sandboxed", text, must_ask=True)


def start_shell(surroundings: Surroundings, arguments: ShellArguments) -> Running:
    """The command, ready to run. Refused `tool_failed`: `moved`, where the workspace or a hidden folder is no longer
    where the session found it.
    """
    _verify_command(arguments)
    root, sandbox = surroundings.root, surroundings.sandbox
    _verify_in_place(root)
    command = [str(surroundings.shell), "-c", arguments.command]
    if sandbox is not None:
        command = sandbox.command(root, surroundings.home, command)
    return Running(
        command,
        environment=surroundings.environment,
        folder=root.path,
        bounds=Bounds(seconds=arguments.seconds, head=_END, tail=_END),
        clock=surroundings.clock,
    )


def shell_result(
    outcome: Outcome, arguments: ShellArguments, removed: Sequence[str] = ()
) -> tuple[dict[str, object], bool]:
    """The result for the model, and whether it is an error: a command that ran to its end is none, whatever its code.

    `exit_code` is bash's: 128 and the number of the signal that ended the command, whose name then stands beside it.
    `removed` are settings of git that the command made and that were taken away again.
    """
    output = outcome.head.decode(errors="replace")
    if outcome.cut:
        output += f"\n[{outcome.cut} bytes are not shown]\n"
    output += outcome.tail.decode(errors="replace")
    output += "".join(f"\n[{path} was removed: a command makes no settings of git]\n" for path in removed)
    if outcome.ending != "exited" or outcome.status is None:
        why = f"it did not end within {arguments.seconds} seconds" if outcome.ending == "late" else "it was stopped"
        message = f"The command was killed with all it started: {why}"
        return {"error": "tool_failed", "reason": outcome.ending, "message": message, "output": output}, True
    code = outcome.status if outcome.status >= 0 else _SIGNAL_CODES - outcome.status
    result: dict[str, object] = {"exit_code": code, "output": output}
    if (name := _signal_name(code)) is not None:
        result["signal"] = name
    return result, False


def _signal_name(code: int) -> str | None:
    try:
        return signal.Signals(code - _SIGNAL_CODES).name
    except ValueError:
        return None


def _verify_command(arguments: ShellArguments) -> None:
    if "\0" in arguments.command:
        raise bad_argument("command_not_valid", "A command holds no zero byte", place="$.command")
    try:
        arguments.command.encode()
    except UnicodeEncodeError:
        raise bad_argument("command_not_valid", "A command is valid Unicode", place="$.command") from None


def _verify_in_place(root: Root) -> None:
    """The sandbox is laid out by path; a folder that was moved away would come back under its new one."""
    inside = [each for each in root.hidden.folders if each.is_relative_to(root.path)]
    moved = [each for each in inside if each in root.hidden.places and not _is_at(each, root.hidden.places[each])]
    if moved or not root.is_in_place():
        raise cannot(
            "moved", "The workspace, or sayso's own folder in it, was moved since the session opened", place="$"
        )


def _is_at(path: Path, identity: tuple[int, int]) -> bool:
    try:
        return identity_of(os.stat(path, follow_symlinks=False)) == identity
    except OSError:
        return False
