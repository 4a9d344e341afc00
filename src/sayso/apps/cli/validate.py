"""`sayso validate`: judges recorded traces of the Open Agent Protocol, offline (OAP-021, OAP-025, OAP-026).

Exit codes: 0 every trace is valid, 1 one is not, 2 called wrongly, 3 a file could not be read or a pack was refused;
with several files 3 outranks 1. Results go to standard output, what prevented one to standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from sayso.apps.cli.main import DONE, NOT_STARTED, REFUSED
from sayso.apps.cli.version import version_option

if TYPE_CHECKING:
    from sayso.control.validator.judging import Profile
    from sayso.control.validator.packs import Packs
    from sayso.control.validator.report import Report
    from sayso.control.validator.shape import Mode

__all__ = ("validate",)


@click.command(
    epilog="A trace is a JSON array of envelopes, or one envelope a line; - reads standard input. "
    "Exit codes: 0 all valid, 1 something is invalid, 2 called wrongly, 3 could not judge."
)
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True)
@click.option(
    "--format",
    "-format",
    "form",
    type=click.Choice(["human", "json"]),
    default="human",
    show_default=True,
    help="For people, or an array of {file, valid, diagnostics} for programs.",
)
@click.option(
    "--mode",
    "-mode",
    type=click.Choice(["strict", "tolerant"]),
    default="strict",
    show_default=True,
    help="Tolerant lets unknown members and types pass; what is known must still be right.",
)
@click.option(
    "--pack",
    "-pack",
    "packs",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A folder with an extension pack to judge with. May be given again.",
)
@click.option("--provider", "-provider", is_flag=True, help="The traces are of model-provider-core.")
@version_option
def validate(traces: Sequence[str], form: str, mode: Mode, packs: Sequence[Path], *, provider: bool) -> int:
    """Judge traces: can they be read, has each envelope its shape, may each come when it does.

    The first of these questions that finds anything is the one that is reported.
    """
    if traces.count("-") > 1:
        raise click.UsageError("standard input is one trace; give - once")
    from sayso.control.validator.pack_loading import PackRefused, load_packs
    from sayso.control.validator.report import Report

    try:
        loaded = load_packs(packs)
    except PackRefused as refused:
        for finding in refused.findings:
            place = f" ({finding.place})" if finding.place else ""
            click.echo(f"The pack is refused: {finding.code}: {finding.message}{place}", err=True)
        if form == "json":
            _write([Report("", refused.findings)], form)
        return NOT_STARTED
    reports, is_unread = _judge_all(traces, mode, loaded, provider=provider)
    _write(reports, form)
    if is_unread:
        return NOT_STARTED
    return DONE if all(report.valid for report in reports) else REFUSED


def _judge_all(traces: Sequence[str], mode: Mode, packs: Packs, *, provider: bool) -> tuple[list[Report], bool]:
    from sayso.control.validator.judging import judge

    profile: Profile = "model-provider-core" if provider else "agent-control-core"
    reports: list[Report] = []
    is_unread = False
    for name in traces:
        try:
            with _opened(name) as stream:
                reports.append(judge(stream, file=name, mode=mode, packs=packs, profile=profile))
        except OSError as error:
            click.echo(f"{name} cannot be read: {error.strerror or error}.", err=True)
            is_unread = True
    return reports, is_unread


def _opened(name: str) -> BinaryIO:
    if name == "-":
        if sys.stdin is None:
            raise OSError("it is closed")
        return sys.stdin.buffer
    return Path(name).open("rb")


def _write(reports: Sequence[Report], form: str) -> None:
    from sayso.control.validator.report import write_human, write_json

    if form == "json":
        click.echo(write_json(reports))
    else:
        click.echo(write_human(reports), nl=False)
