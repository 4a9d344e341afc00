"""The command `sayso`: finds the subcommand, imports it alone, and turns every refusal into a sentence and a code.

Exit codes are the same everywhere: 0 done, 1 refused, impossible or found wrong, 2 called wrongly, 3 could not start or
could not judge. A traceback never reaches a person; `SAYSO_DEBUG=1` lets it through for the one who looks for a bug.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

from sayso import __version__

if TYPE_CHECKING:
    import click

__all__ = ("COMMANDS", "DONE", "NOT_STARTED", "REFUSED", "USAGE", "run")

DONE, REFUSED, USAGE, NOT_STARTED = 0, 1, 2, 3
_ERRORS = 2

COMMANDS: dict[str, tuple[str, str]] = {
    "ask": ("sayso.apps.cli.ask:ask", "Book, move, cancel or look up appointments in your own words."),
    "auth": ("sayso.apps.cli.auth:auth", "Sign in to model providers."),
    "backup": ("sayso.apps.cli.backup:backup", "Write your home to one file."),
    "check": ("sayso.apps.cli.check:check", "Check this build against itself (Open Agent Protocol), offline."),
    "conformance": ("sayso.apps.cli.conformance:conformance", "Drive an endpoint (Open Agent Protocol), and judge it."),
    "console": ("sayso.apps.cli.console:console", "Who may sign in to the console."),
    "gate": ("sayso.apps.cli.gate:gate", "What agents asked for: see it, and say yes or no."),
    "gateway": ("sayso.apps.cli.gateway:gateway", "Agents from outside: keys, tasks, memory."),
    "guest": ("sayso.apps.cli.guest:guest", "The hosts your assistant may book with."),
    "host": ("sayso.apps.cli.host:host", "Be a host: serve your calendar, answer requests, mark who came."),
    "hub": ("sayso.apps.cli.serve:serve", "Another name for `serve`."),
    "keyapp": ("sayso.apps.cli.keyapp:keyapp", "Your keys, and what you signed with them."),
    "providers": ("sayso.apps.cli.providers:providers", "Which model providers there are."),
    "receipts": ("sayso.apps.cli.receipts:receipts", "What was agreed, and the proof of it."),
    "restore": ("sayso.apps.cli.backup:restore", "Make a home of a backup."),
    "run": ("sayso.apps.cli.run:run", "Have an agent do something in a folder, over any model."),
    "serve": ("sayso.apps.cli.serve:serve", "Serve agents over the Open Agent Protocol: HTTP or stdio."),
    "tui": ("sayso.apps.cli.tui:tui", "Talk to an agent in the terminal; `sayso` alone does the same."),
    "up": ("sayso.apps.cli.up:up", "Run everything: hub, doors for outside agents, console."),
    "validate": ("sayso.apps.cli.validate:validate", "Judge recorded traces (Open Agent Protocol), offline."),
    "world": ("sayso.apps.cli.world:world", "The sample world: hosts on loopback with their own clock."),
}
"""Each command's home and its one line of help, so that `sayso --help` imports none of them."""


def run() -> NoReturn:
    """The console entry point."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        # Answered before the option parser is even imported: this is what scripts and prompts call most.
        sys.stdout.write(f"sayso {__version__}\n")
        raise SystemExit(DONE)
    _open_standard_error()
    if not sys.argv[1:]:
        # Its first frame is drawn before anything slow is imported, so the option parser is not asked.
        from sayso.apps.tui.launch import launch

        raise SystemExit(launch())
    try:
        code = _run_group()
    except KeyboardInterrupt:
        # Before the command took charge of interrupts: nothing was begun.
        code = REFUSED
    raise SystemExit(code)


def _open_standard_error() -> None:
    """Whoever closed it hears nothing; its number would otherwise be the next file's, and messages go into that."""
    if sys.stderr is None:
        import os

        nowhere = os.open(os.devnull, os.O_RDWR)
        if nowhere != _ERRORS:
            os.dup2(nowhere, _ERRORS)
            os.close(nowhere)
        sys.stderr = open(_ERRORS, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process


def _run_group() -> int:
    import click

    from sayso.apps.cli.failures import print_failure, say_failure
    from sayso.core.refusal import Refusal

    as_json = "--json" in sys.argv[1:]
    try:
        code = _group()(prog_name="sayso", standalone_mode=False)
        return code if isinstance(code, int) else DONE
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.Abort:
        click.echo("Stopped.", err=True)
        if as_json:
            print_failure(Refusal(code="stopped", message="Stopped."))
        return REFUSED
    except click.ClickException as wrong:
        wrong.show()
        if as_json:
            print_failure(Refusal(code="called_wrongly", message=wrong.format_message()))
        return USAGE
    except Exception as failure:  # noqa: BLE001 - the one place where a failure becomes a sentence
        return say_failure(failure, as_json=as_json)


def _group() -> click.Group:
    import importlib

    import click

    class Lazy(click.Group):
        """Knows its commands by name and imports the one that is called."""

        def list_commands(self, ctx: click.Context) -> list[str]:
            return list(COMMANDS)

        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
            if cmd_name not in COMMANDS:
                return None
            module, _, name = COMMANDS[cmd_name][0].partition(":")
            command = getattr(importlib.import_module(module), name)
            return command if isinstance(command, click.Command) else None

        def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            with formatter.section("Commands"):
                formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    @click.group(
        cls=Lazy,
        help="Agents act on your say-so, inside limits you signed, and everyone can prove what was agreed.",
        epilog="Start with: sayso ask --world 'Book my oil change Thursday around 1 PM, under $100'",
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    @click.version_option(__version__, "-V", "--version", prog_name="sayso", message="%(prog)s %(version)s")
    def group() -> None:
        pass

    return group


if __name__ == "__main__":
    run()
