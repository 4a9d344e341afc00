"""`sayso gateway`: agents from outside, the work they are given, and what is known (GTW-061).

Each part is imported when it is called; a part that serves is a row here too.
"""

from __future__ import annotations

import importlib

import click

__all__ = ("PARTS", "gateway")

PARTS: dict[str, tuple[str, str]] = {
    "agents": ("sayso.apps.cli.gateway_agents:agents", "Let agents in, and take their keys back."),
    "memory": ("sayso.apps.cli.gateway_memory:memory", "Search what is known, and add to it."),
    "proxy": ("sayso.apps.cli.gateway_proxy:proxy", "Sign for a program of yours that cannot sign itself."),
    "serve": ("sayso.apps.cli.up:serve_doors", "Serve the doors alone, without console and hub."),
    "tasks": ("sayso.apps.cli.gateway_tasks:tasks", "Give agents work, and see what came of it."),
}
"""Each part's home and its one line of help."""


class _Parts(click.Group):
    """Knows its parts by name and imports the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(PARTS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in PARTS:
            return None
        module, _, name = PARTS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), name)
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, PARTS[name][1]) for name in sorted(PARTS)])


@click.group(cls=_Parts)
def gateway() -> None:
    """Agents from outside: their keys, their work, and what they know.

    What they may not do by themselves waits at the Gate: sayso gate list.
    """
