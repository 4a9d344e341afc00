"""`sayso guest listen`: hosts tell what became of holds, bookings and waits, as soon as it happens (spec section 22).

Nothing depends on it: what is heard is read again and proved as when asking, and who does not listen learns the same by
`sayso guest show`.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from sayso.apps.asking.plain_text import plain
from sayso.apps.cli.logs import log_to_stderr
from sayso.apps.cli.main import DONE
from sayso.apps.cli.options import home_option, read_port, read_resolve, resolve_option
from sayso.apps.home import Home, open_home
from sayso.apps.house import open_house
from sayso.apps.person_zone import person_zone
from sayso.core.refusal import Refused
from sayso.net.listen import LOOPBACK, serving
from sayso.scheduling.guest.hearing import EventBook, Heard, callback_app
from sayso.scheduling.terms.events import EventClaims
from sayso.scheduling.terms.identity import vouching_domain

__all__ = ("listen",)

_WORDS = {
    "hold.expired": "has run out",
    "booking.cancelled": "is called off",
    "booking.change_approved": "is moved",
    "booking.change_declined": "stays as it was: the host said no to the move",
    "booking.proposed": "may be at another time: the host proposes one",
    "booking.proposal_over": "stays as it was: the proposal is over",
    "booking.no_show": "is marked: nobody came",
    "waitlist.offered": "has come up: time is held for you",
    "waitlist.ended": "is over",
}


@click.command()
@click.option("--addr", metavar="HOST:PORT", default=f"{LOOPBACK}:0", show_default=True, help="Port 0 takes any.")
@resolve_option
@home_option
def listen(addr: str, resolve: tuple[str, ...], home: Path) -> int:
    """Hear from hosts what became of your holds and bookings, on loopback until stopped.

    A TLS terminator in front of it forwards the address that settings.toml names as callback_url. Holds placed while
    that is set carry it along. Without it, or while nobody listens, you learn the same by asking: sayso guest show.
    """
    place = open_home(home, is_world=False)
    url = place.settings.callback_url
    if url is None:
        raise Refused.because(
            "no_callback_url",
            "Hosts have no address where they could tell you anything.",
            help='Set callback_url = "https://assistant.example/heard" in settings.toml, or ask: sayso guest show',
        )
    port = read_port(addr)
    log_to_stderr()
    asyncio.run(_serve(place, url, port, read_resolve(resolve)))
    return DONE


async def _serve(place: Home, url: str, port: int, entries: Mapping[str, str]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop.set)
    domain = url.removeprefix("https://").partition("/")[0]
    async with open_house(place, zone=person_zone(place.settings.zone), resolve=entries) as house:
        app = callback_app(house.guest, EventBook(house.store, house.guest.agent), domain, heard=_tell)
        async with serving(app, LOOPBACK, port) as address:
            click.echo(f"{url} is heard at {address.url}")
            click.echo(f"On this machine: --resolve {domain}={LOOPBACK}:{address.port}")
            sys.stdout.flush()
            await stop.wait()


def _tell(claims: EventClaims, came_to: Heard) -> None:
    """Says what is new; what was known already, or is not ours, is nobody's news."""
    if came_to is not Heard.NEWS:
        return
    subject = claims.subject
    kind, name = next(
        (kind, name)
        for kind, name in (
            ("booking", subject.booking_id),
            ("hold", subject.hold_id),
            ("waitlist entry", subject.entry_id),
        )
        if name is not None
    )
    what = _WORDS.get(claims.event) or f"is {claims.event.partition('.')[2].replace('_', ' ')}"
    click.echo(plain(f"{vouching_domain(claims.iss)}: {kind} {name} {what}."))
    sys.stdout.flush()
