"""`sayso conformance`: drives an endpoint and says what it keeps of the protocol (OAP-198, OAP-199)."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

import click

from sayso.apps.cli.main import DONE, NOT_STARTED, REFUSED
from sayso.apps.cli.version import version_option

if TYPE_CHECKING:
    from sayso.control.conformance.report import ConformanceReport
    from sayso.net.child import Program

__all__ = ("conformance",)

_OURS = "sayso serve agent --backend memory --stdio"


@click.command(
    epilog="Exit codes: 0 conforms, 1 a check failed, 2 called wrongly, 3 could not be started or judged. "
    "The endpoint is started with the whole environment, and its permissions are granted."
)
@click.option("--command", "-command", "command", metavar="CMD", help=f"The endpoint to start. [default: {_OURS}]")
@click.option(
    "--format",
    "-format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people, or one object with every check for programs.",
)
@click.option(
    "--model",
    "-model",
    "model",
    metavar="M",
    help="The model to submit with. [default: the endpoint's own, read from its catalog]",
)
@click.option(
    "--timeout-ms",
    "-timeout-ms",
    "timeout",
    type=click.IntRange(min=1, max=3_600_000),
    default=30_000,
    show_default=True,
    help="How long one request, or one run, may take altogether.",
)
@version_option
def conformance(command: str | None, form: str, model: str | None, timeout: int) -> int:
    """Drive an endpoint over stdio, and judge it.

    Discovery, a session, a run with its gates, replay, state, stale revisions, cancel, each advertised unit, and the
    exit codes. What was sent and came is judged by the validator of `sayso validate`.
    """
    from sayso.apps.cli.running import Stopped, run_until_stopped
    from sayso.control.conformance.report import write_json, write_text

    program, name = _program(command)
    try:
        report = run_until_stopped(lambda: _drive(program, name, model, timeout / 1000))
    except Stopped:
        click.echo("Stopped before it was judged; the endpoint was ended.", err=True)
        return NOT_STARTED
    click.echo(write_json(report) if form == "json" else write_text(report), nl=form == "json")
    return DONE if report.conforms else REFUSED


async def _drive(program: Program, name: str, model: str | None, budget: float) -> ConformanceReport:
    from sayso.control.conformance.child import ChildLauncher
    from sayso.control.conformance.runner import run_conformance
    from sayso.core.ids import SystemIds

    return await run_conformance(ChildLauncher(program), ids=SystemIds(), name=name, budget=budget, model=model)


def _program(command: str | None) -> tuple[Program, str]:
    from sayso.net.child import Patience, Program

    try:
        words = shlex.split(command) if command is not None else None
    except ValueError as error:
        raise click.UsageError(f"--command cannot be read: {error}.") from None
    if words == []:
        raise click.UsageError("--command names no program.")
    if words is None:
        words = [sys.executable, "-m", "sayso", *_OURS.split()[1:]]
    name = command if command is not None else _OURS
    # An endpoint that does not end by itself was found out by then, and is only to be gone.
    patience = Patience(eof=1.0, term=2.0)
    return Program(command=words, environment=dict(os.environ), called=name, patience=patience), name
