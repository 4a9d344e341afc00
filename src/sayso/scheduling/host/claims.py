"""Units of a limit that several hosts share: taken before a confirmation, given back after a cancellation.

Protocol 6.11; SCH-092, SCH-099. Taking goes out before the unit of work and is judged again inside it; no answer, or
one that cannot be believed, confirms nothing: a claim never falls back. Giving back is written into the outbox in the
unit of work that ends the hold or the booking and tried until the mandate is over. A give-back that is lost for good
costs the person a unit, never gives them one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from sqlalchemy import bindparam, literal_column, select

from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.instants import epoch, from_epoch
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused
from sayso.net.fetch import Fetcher
from sayso.scheduling.host.call import ClaimState
from sayso.scheduling.rules.profile import HostPen
from sayso.scheduling.terms.claim import CLAIM_PATH, ClaimAsk, ClaimRequestClaims
from sayso.scheduling.terms.claim_checks import verify_claim
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.identity import Jwk, public_key
from sayso.scheduling.terms.mandate_checks import Mandate
from sayso.store import outbox
from sayso.store.statements import insert, statement
from sayso.store.tables.scheduling import host_hold, host_shared
from sayso.store.unit import Reading, Unit

__all__ = (
    "Shared",
    "ask_key_app",
    "check_claim",
    "find_claimable",
    "find_shared",
    "give_back",
    "is_over",
    "note_shared",
    "topic",
)

_s, _h = host_shared.c, host_hold.c
_ADD = statement(insert(host_shared))
_FIND = statement(
    select(_s.hold_id, _s.url, _s.jwk, _s.mandate_sha256, _s.expires).where(
        _s.host == bindparam("of_host"), _s.hold_id == bindparam("of_hold")
    )
)
_OPEN = statement(
    select(_h.hold_id).where(
        _h.host == bindparam("of_host"),
        _h.hold_id == bindparam("of_hold"),
        _h.agent == bindparam("of_agent"),
        _h.state == literal_column("'held'"),
    )
)
_MAX_BYTES = 8192
_SECONDS = 2.0


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """Where the unit of one hold is claimed, from its mandate."""

    hold_id: str
    url: str
    jwk: Jwk
    mandate_sha256: str
    expires: int


def topic(host: str) -> str:
    """The outbox topic of one host's give-backs."""
    return f"claims {host}"


def note_shared(unit: Unit, host: str, hold_id: str, mandate: Mandate) -> None:
    """Keeps where a hold's unit will be claimed, where its mandate shares its limit."""
    claims = mandate.claims
    if claims.constraints.shared_limit is None or claims.status is None or claims.status_jwk is None:
        return
    unit.execute(
        _ADD,
        {
            "host": host,
            "hold_id": hold_id,
            "url": claims.status + CLAIM_PATH,
            "jwk": strictjson.encode(claims.status_jwk),
            "mandate_sha256": mandate.sha256,
            "expires": claims.exp,
        },
    )


def find_shared(view: Reading, host: str, hold_id: str) -> Shared | None:
    """Where that hold's unit is claimed; None where it needs none."""
    row: Sequence[object] | None = view.one(_FIND, {"of_host": host, "of_hold": hold_id})
    if row is None:
        return None
    found, url, jwk, sha256, expires = row
    assert isinstance(jwk, bytes)
    return Shared(
        hold_id=str(found),
        url=str(url),
        jwk=strictjson.decode(jwk, Jwk),
        mandate_sha256=str(sha256),
        expires=int(str(expires)),
    )


def find_claimable(view: Reading, host: str, hold_id: str, agent: str) -> Shared | None:
    """The same, but only for an open hold of that agent: nobody else makes this host ask a key app."""
    if view.one(_OPEN, {"of_host": host, "of_hold": hold_id, "of_agent": agent}) is None:
        return None
    return find_shared(view, host, hold_id)


def check_claim(view: Reading, host: str, hold_id: str, state: ClaimState) -> None:
    """That the unit an open hold needs was taken. Refused: claim_unavailable, limit_reached."""
    if find_shared(view, host, hold_id) is None:
        return
    if state == "refused":
        raise refused("limit_reached", "The limit that the person set for all these hosts together is used up.")
    if state != "taken":
        raise refused("claim_unavailable")


def give_back(unit: Unit, host: str, hold_id: str) -> None:
    """Writes the give-back of a unit down, once the hold or the booking it was for is over and cannot come back."""
    shared = find_shared(unit, host, hold_id)
    if shared is not None:
        outbox.put(unit, topic(host), hold_id, strictjson.encode(shared))


async def ask_key_app(
    fetcher: Fetcher, clock: Clock, pen: HostPen, host: str, shared: Shared, act: Literal["take", "return"]
) -> Literal["taken", "returned", "refused", "unavailable"]:
    """Takes or gives back one unit. Whatever goes wrong is `unavailable`."""
    now = clock.now()
    asked = ClaimRequestClaims(iss=host, mandate=shared.mandate_sha256, unit=shared.hold_id, act=act, iat=epoch(now))
    body = strictjson.encode(ClaimAsk(request=pen.sign_claim(asked)))
    try:
        response = await fetcher.request(
            "POST",
            shared.url,
            headers=(("Content-Type", "application/json"),),
            body=body,
            max_bytes=_MAX_BYTES,
            seconds=_SECONDS,
        )
        if response.status != 200:
            return "unavailable"
        return verify_claim(response.body, public_key(shared.jwk), asked, clock.now())
    except (Refused, PeerRefused, PeerUnreachable):
        return "unavailable"


def is_over(shared: Shared, clock: Clock) -> bool:
    """Whether the mandate has ended: nobody can use a unit that comes back now."""
    return from_epoch(shared.expires) <= clock.now()
