"""What a person tells a host of themselves from the command line: `--name`, `--contact` and `--for`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from sayso.apps.settings import read_settings
from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.scheduling.terms.guest_details import GuestDetails
from sayso.world.places import world_folder

__all__ = ("about_you",)

_OPTIONS = (
    click.option("--name", help="Your name, for the host; without it, the name in your settings."),
    click.option("--contact", help="A telephone number or e-mail address at which the host reaches you."),
    click.option("--for", "attendee", metavar="NAME", help="Who comes, if that is not you."),
)


def about_you(command: Callable[..., int]) -> Callable[..., int]:
    """Gives a command the three options, as its argument `details`."""

    @wraps(command)
    def told(name: str | None, contact: str | None, attendee: str | None, **rest: Any) -> int:
        home = world_folder(rest["home"]) if rest["world"] else rest["home"]
        return command(details=_details(name, contact, attendee, home), **rest)

    wrapped: Callable[..., int] = told
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _details(name: str | None, contact: str | None, attendee: str | None, home: Path) -> GuestDetails | None:
    """What was given, and with no name given, the rest from the settings of the home.

    Raises a usage error for what is no name, no address and no number. Refused: settings_invalid.
    """
    given = {"name": name, "contact": contact, "attendee": attendee}
    found = {key: value for key, value in given.items() if value is not None}
    if not found:
        return None
    if name is None:
        kept = read_settings(home)
        if kept.name is None:
            raise click.UsageError("--contact and --for go with --name, or with a name in settings.toml: who is it?")
        own = {"name": kept.name, "contact": kept.contact}
        found = {key: value for key, value in own.items() if value is not None} | found
    try:
        return strictjson.decode(strictjson.encode(found), GuestDetails)
    except Refused as wrong:
        option = {"$.contact": "--contact", "$.attendee": "--for"}.get(wrong.refusal.place or "", "--name")
        raise click.UsageError(f"{option}: {_MEANT[option]}") from None


_MEANT = {
    "--name": "write a name, up to 200 characters on one line",
    "--contact": "write one telephone number or one e-mail address, and nothing else",
    "--for": "write a name, up to 200 characters on one line",
}
