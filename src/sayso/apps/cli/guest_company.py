"""How a person asks others along on a command line: `--participant 'Lee=urn:schcp:principal:…'` and its terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from sayso.core.refusal import Refused

__all__ = ("invited_options", "read_companions")

Command = Callable[..., int]
_FOR = " for "


def invited_options(command: Command) -> Command:
    """The options by which a hold asks others along."""
    options = (
        click.option(
            "--participant",
            metavar="NAME[ for ATTENDEE]=PRINCIPAL",
            multiple=True,
            help="Nothing is booked without their yes. They find PRINCIPAL with: sayso keyapp show",
        ),
        click.option("--optional", metavar="NAME=PRINCIPAL", multiple=True, help="Asked too; nothing waits for them."),
        click.option("--answer-within", metavar="DURATION", help="How long participants have: PT2H, or a day, P1D."),
        click.option("--silence", type=click.Choice(["yes", "no"]), help="What no answer counts as; no unless told."),
        click.option("--in-person", is_flag=True, help="Only the person whose calendar it is may answer, no rule."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def read_companions(given: Sequence[str], *, required: bool) -> list[dict[str, str | bool]]:
    """`Noor for Maya=urn:…` is Noor, who answers for Maya. Refused: not_a_participant."""
    return [_companion(each, required=required) for each in given]


def _companion(text: str, *, required: bool) -> dict[str, str | bool]:
    said, is_said, principal = text.partition("=")
    name, _, attendee = said.partition(_FOR)
    if not is_said or not name.strip() or not principal.strip():
        raise Refused.because(
            "not_a_participant",
            f"{text[:80]!r} names nobody.",
            help="Write NAME=PRINCIPAL, or 'NAME for CHILD=PRINCIPAL'.",
        )
    found: dict[str, str | bool] = {"name": name.strip(), "principal": principal.strip(), "required": required}
    return {**found, "attendee": attendee.strip()} if attendee.strip() else found
