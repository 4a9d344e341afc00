"""`sayso tui`: the terminal UI with its options; bare `sayso` is the same without any."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, cast

import click

from sayso.apps.cli.options import home_option

__all__ = ("tui",)


@click.command()
@home_option
@click.option("--attach", metavar="URL", help="Talk to a running hub, such as http://127.0.0.1:6270.")
@click.option("--backend", metavar="NAME", help="Another agent than the built-in loop.")
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The registry document that has the backend's entry.",
)
@click.option("--model", metavar="REF", help="The model to begin with, as `/model` lists it.")
@click.option(
    "--permission",
    type=click.Choice(["ask", "bypass"]),
    default="ask",
    show_default=True,
    help="Whether acts in the workspace are asked for, one by one.",
)
@click.option("--resume", metavar="ID", help="Go on with a conversation; an empty one asks which.")
@click.option(
    "--workspace",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where file tools work; here unless given.",
)
@click.option("--theme", metavar="NAME", help="The colours; read off the terminal unless given.")
def tui(
    home: Path,
    attach: str | None,
    backend: str | None,
    config: Path | None,
    model: str | None,
    permission: str,
    resume: str | None,
    workspace: Path | None,
    theme: str | None,
) -> int:
    """Talk to an agent in this terminal.

    The same as `sayso` alone, with options. Leave with Ctrl-D on an empty line, /quit, or Ctrl-C twice; the
    conversation is kept and can be gone on with. Ends with 0, 1 when it failed inside, 2 without a terminal, 3 when it
    could not start.
    """
    if attach is not None and (config is not None or model is not None):
        raise click.UsageError("--attach talks to a hub that has its own adapters and models: no --config, no --model")
    if attach is not None and not attach.startswith(("http://", "https://")):
        raise click.UsageError(f"--attach {attach}: write it as http://127.0.0.1:6270")
    from sayso.apps.tui.launch import Launch, launch

    return launch(
        Launch(
            home=home,
            attach=attach,
            backend=backend,
            config=config,
            model=model,
            permission=cast('Literal["ask", "bypass"]', permission),
            resume=resume,
            workspace=workspace,
            theme=theme,
        )
    )
