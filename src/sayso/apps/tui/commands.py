"""The commands of the terminal UI: their names, what each is for, and how a typed line becomes one. Pure.

What they do stands in `acting.py`; a test holds that every command here is done there.
"""

from __future__ import annotations

from dataclasses import dataclass

from sayso.core.refusal import Refused

__all__ = ("COMMANDS", "Command", "TypedCommand", "is_command", "read_command")


@dataclass(frozen=True, slots=True)
class Command:
    """One command: `takes` says what may follow its name, for the list of commands."""

    name: str
    help: str
    takes: str = ""


COMMANDS: tuple[Command, ...] = (
    Command("help", "the commands and keys"),
    Command("status", "session, model, permissions, workspace"),
    Command("model", "choose a model, now or by its name", "[MODEL]"),
    Command("provider", "choose a provider, then one of its models", "[PROVIDER]"),
    Command("login", "sign in to a provider", "[PROVIDER]"),
    Command("logout", "forget what was stored for a provider", "[PROVIDER]"),
    Command("permissions", "ask before each act, or not; begins anew", "[ask|bypass]"),
    Command("resume", "go on with a past conversation", "[ID]"),
    Command("abort", "stop what is running, as Esc does"),
    Command("compact", "make the history shorter, keeping WHAT", "[WHAT]"),
    Command("autocompact", "when that happens by itself; begins anew", "[on|off|PERCENT]"),
    Command("steer", "say something to the run that is under way", "TEXT"),
    Command("queue", "what waits; take one out by its number", "[drop N]"),
    Command("theme", "choose the colours", "[THEME]"),
    Command("clear", "start a new conversation"),
    Command("quit", "leave; the conversation is kept"),
)
_BY_NAME = {command.name: command for command in COMMANDS}


@dataclass(frozen=True, slots=True)
class TypedCommand:
    """A command as it was typed."""

    name: str
    rest: str = ""


def is_command(text: str) -> bool:
    """Whether a text is meant as a command: one line that begins with one slash and a letter, and is no path."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return text.startswith("/") and "\n" not in text and first.count("/") == 1 and first[1:2].isalpha()


def read_command(text: str) -> TypedCommand:
    """The command a line names. Raises `Refused` `unknown_command`, which says which there are."""
    first, _, rest = text.strip().removeprefix("/").partition(" ")
    if first.lower() not in _BY_NAME:
        raise Refused.because(
            "unknown_command",
            f"no command is called /{first}",
            help=f"There are {', '.join(f'/{each.name}' for each in COMMANDS)}.",
        )
    return TypedCommand(first.lower(), rest.strip())
