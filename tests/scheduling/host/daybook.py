"""Noor's calendar, her keys, and people who want to play: what a person's calendar is tried with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.ids import CountingIds, SystemIds
from sayso.core.instants import epoch
from sayso.net.fetch import Fetcher, Response
from sayso.net.listen import serving
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.config import HostConfig, UnitConfig
from sayso.scheduling.host.contacts import add_contact
from sayso.scheduling.host.desk import open_desk
from sayso.scheduling.host.http import host_app
from sayso.scheduling.terms.acceptance import ACCEPTANCE_TYP
from sayso.scheduling.terms.discovery import Confirmation, Contact, HoldLimits, Notes, Policies, Service
from sayso.scheduling.terms.identity import principal_urn
from sayso.scheduling.terms.rule import RULE_TYP
from sayso.store.unit import Store
from sayso.testing.store import fresh_store
from tests.scheduling.host.frontdesk import FrontDesk, front_desk
from tests.scheduling.host.town import DOMAIN, HOST, HOST_KEY, Guest, Town, read

NOOR = PrivateKey.from_seed(b"n" * 32)
KEEPER = PrivateKey.from_seed(b"k" * 32)
OWNER = principal_urn(NOOR.public)
SATURDAY = "2026-10-17T12:00:00-04:00"
SUNDAY = "2026-10-18T12:00:00-04:00"
MONDAY = "2026-10-19T12:00:00-04:00"
_DAY = ("09:00-18:00",)
_EVER = {"not_before": "2026-10-13T00:00:00-04:00", "not_after": "2026-12-13T00:00:00-05:00"}


def noors_calendar(**changed: Any) -> HostConfig:
    """Playdates of two hours, any day; the id is the one that guests' mandates name."""
    return HostConfig(
        id="maple-street-auto",
        domain=DOMAIN,
        kind=changed.pop("kind", "person"),
        owner=changed.pop("owner", OWNER),
        title="Noor Haddad",
        timezone=changed.pop("timezone", "America/Toronto"),
        contact=Contact(phone="+1 416 555 0134"),
        services=(
            Service(id="playdate", title="Playdate", duration="PT2H", needs=("noor",)),
            Service(id="coffee", title="Coffee", duration="PT1H", needs=("noor",)),
        ),
        units=(
            UnitConfig(
                id="noor",
                type="noor",
                hours=changed.pop("hours", dict.fromkeys(("mon", "tue", "wed", "thu", "fri", "sat", "sun"), _DAY)),
            ),
        ),
        policies=Policies(
            holds=HoldLimits(ttl_max="PT10M", ttl_min="PT1M", max_active_per_agent=3, max_active_unproven=6),
            confirmation=changed.pop("confirmation", Confirmation(mode="approval", answer_within="PT2H")),
            access=changed.pop("access", "contacts"),
            closed_mandate="never",
            retention="P365D",
            horizon="P60D",
            slot_step="PT15M",
            notes=Notes(accepted=False),
            replay_window="P1D",
        ),
        **changed,
    )


@asynccontextmanager
async def open_calendar(
    store: Store, clock: Clock, config: HostConfig | None = None, keeper: PrivateKey | None = KEEPER
) -> AsyncIterator[Town]:
    """Noor's calendar on a loopback port of its own, kept by her agent."""
    settings = config or noors_calendar()
    desk = open_desk(settings, HOST_KEY, CountingIds(), keeper=keeper)
    async with (
        serving(host_app(settings, desk, store, clock)) as address,
        Fetcher({DOMAIN: f"127.0.0.1:{address.port}"}) as fetcher,
    ):
        yield Town(desk, store, clock, address.port, fetcher)


@asynccontextmanager
async def open_calendar_on_file(folder: Path, clock: Clock, **given: Any) -> AsyncIterator[Town]:
    """The same on a fresh SQLite file."""
    with fresh_store(folder, clock) as store:
        async with open_calendar(store, clock, **given) as town:
            yield town


async def friend(town: Town, key: PrivateKey | None = None) -> Guest:
    """Somebody on Noor's list."""
    guest = town.guest(key)
    await town.store.unit(lambda unit: add_contact(unit, HOST, guest.principal, "A friend"))
    return guest


def may_play(guest: Guest, **constraints: Any) -> str:
    """A mandate for playdates and coffees at any time."""
    wide = {"services": ["playdate", "coffee"], "window": _EVER, "max_price": None, "max_bookings": 9, **constraints}
    return guest.mandate(constraints=wide)


async def ask(guest: Guest, start: str = SATURDAY, **asked: Any) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Holds and confirms: what the host settled, the hold, and the mandate."""
    mandate = may_play(guest)
    hold = read(await guest.hold(mandate, **{"service_id": "playdate", "start": start, **asked}), 201)
    return read(await guest.confirm(hold, mandate), 201), hold, mandate


def signed_rule(clock: Clock, key: PrivateKey = NOOR, **changed: Any) -> str:
    """A rule of Noor's: weekend playdates, by her keeper."""
    claims = {
        "iss": principal_urn(key.public),
        "host": HOST,
        "iat": epoch(clock.now()),
        "jti": SystemIds().new("a"),
        "cnf": {"jkt": KEEPER.public.thumbprint},
        "principal_jwk": key.public.jwk(),
        "words": "Weekend playdates with my contacts",
        "consent": {"mode": "human_present", "statement": "Weekend playdates."},
        "services": ["playdate"],
        "weekdays": ["sat", "sun"],
        **changed,
    }
    return sign_jws({name: value for name, value in claims.items() if value is not None}, key, typ=RULE_TYP)


def signed_answer(clock: Clock, offer: str, answer: str = "yes", key: PrivateKey = NOOR, **changed: Any) -> str:
    """The owner's own answer to an offer."""
    claims = {
        "iss": principal_urn(key.public),
        "offer_sha256": sha256_b64u(offer),
        "answer": answer,
        "iat": epoch(clock.now()),
        "jti": SystemIds().new("a"),
        "principal_jwk": key.public.jwk(),
        "consent": {"mode": "human_present", "statement": "I accept."},
        **changed,
    }
    return sign_jws({name: value for name, value in claims.items() if value is not None}, key, typ=ACCEPTANCE_TYP)


def yes_by_rule(clock: Clock, offer: str, rule: str, key: PrivateKey = KEEPER, **changed: Any) -> str:
    """The keeper's yes under a rule of Noor's."""
    by_agent = {"principal_jwk": None, "consent": None, "agent_jwk": key.public.jwk(), "rule": rule, "iss": OWNER}
    return signed_answer(clock, offer, key=key, **{**by_agent, **changed})


def at_desk(town: Town) -> FrontDesk:
    """Whoever holds the calendar's own key: its operator's staff."""
    return front_desk(town, HOST_KEY)


async def keep(town: Town, rule: str) -> Response:
    """Hands a rule in at the desk."""
    desk = at_desk(town)
    body = strictjson.encode({"idempotency_key": SystemIds().new("i"), "rule": rule})
    return await desk.client.send("POST", f"https://{DOMAIN}/schcp/v0/host/rules", body)


async def withdraw(town: Town, rule_id: str) -> Response:
    """Withdraws one at the desk."""
    body = strictjson.encode({"idempotency_key": SystemIds().new("i")})
    return await at_desk(town).client.send("POST", f"https://{DOMAIN}/schcp/v0/host/rules/{rule_id}/withdraw", body)


__all__ = (
    "KEEPER",
    "MONDAY",
    "NOOR",
    "OWNER",
    "SATURDAY",
    "SUNDAY",
    "ask",
    "at_desk",
    "friend",
    "keep",
    "may_play",
    "noors_calendar",
    "open_calendar",
    "open_calendar_on_file",
    "signed_answer",
    "signed_rule",
    "withdraw",
    "yes_by_rule",
)
