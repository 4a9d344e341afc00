"""Whether a mandate allows what an agent asks (spec sections 6.2 and 6.3; SCH-082).

Two steps, both pure. `verify_mandate` reads the header and proves who signed; `check_mandate` compares what was signed
with what is asked. Every check runs before anything is allocated; the first that fails is reported, and an agent must
not depend on which (SCH-084). Left to the host: counting what lives under the mandate (`check_limit` judges the count),
the revocation status it fetched, contact lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Literal

from sayso.core import strictjson
from sayso.core.instants import from_epoch, parse_instant
from sayso.core.money import Money, read_money
from sayso.core.refusal import Refused
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import read_jws, verify_jws
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.identity import principal_urn, public_key, refuse_private_parts
from sayso.scheduling.terms.mandate import MANDATE_TYP, ConsentMode, MandateClaims, Scope, audience

__all__ = (
    "LONGEST_BUYING",
    "SKEW",
    "Action",
    "Ask",
    "Checked",
    "Mandate",
    "check_limit",
    "check_mandate",
    "verify_mandate",
)

SKEW = timedelta(seconds=30)
"""Allowed between the key app's clock and the host's (SCH-060)."""

LONGEST_BUYING = timedelta(days=31)
"""The longest life of a mandate that can hold or book (SCH-102)."""

_MAX_TOKEN = 8192


class Action(Enum):
    """What is asked, by the scope it needs (SCH-075)."""

    HOLD = "hold"
    CONFIRM = "book"
    CANCEL = "cancel"
    REQUEST_CHANGE = "reschedule:request"
    ACCEPT_CHANGE = "reschedule:accept"

    @property
    def scope(self) -> Scope:
        return _SCOPES[self]

    @property
    def is_acceptance(self) -> bool:
        """Whether it says yes to an offer, which is what a closed mandate is for."""
        return self in (Action.CONFIRM, Action.ACCEPT_CHANGE)

    @property
    def is_management(self) -> bool:
        """Whether it acts on a booking that exists."""
        return self in (Action.CANCEL, Action.REQUEST_CHANGE, Action.ACCEPT_CHANGE)


_SCOPES: dict[Action, Scope] = {
    Action.HOLD: "hold",
    Action.CONFIRM: "book",
    Action.CANCEL: "cancel",
    Action.REQUEST_CHANGE: "reschedule",
    Action.ACCEPT_CHANGE: "reschedule",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mandate:
    """A mandate whose signature and issuer hold. `principal` is who signed; `sha256` is of the compact token."""

    claims: MandateClaims
    token: str
    sha256: str

    @property
    def principal(self) -> str:
        return self.claims.iss


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What an agent wants to do, in facts the host vouches for.

    `agent` is the thumbprint of the key that signed the request. `start`, `end` and `total` are the offer's: `end` is
    None for an open end, `total` None where no price is stated. `principal` and `booked_under` are whose hold or
    booking it is and the root jti it counts under; `status` is what the mandate's status URL said, if it was asked.
    """

    action: Action
    host: str
    agent: str
    principal: str | None = None
    service_id: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    total: Money | None = None
    booking_id: str | None = None
    booked_under: str | None = None
    offer_sha256: str | None = None
    closed_mandate: Literal["never", "always"] = "never"
    status: Literal["unread", "active", "revoked"] = "unread"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The mandate allows it. `approved` says how the person agreed: to this offer, or to limits that cover it."""

    mandate: Mandate
    approved: Literal["offer", "limits"]

    @property
    def mode(self) -> ConsentMode:
        return self.mandate.claims.consent.mode


def verify_mandate(header: str | None) -> Mandate:
    """The mandate in a `SchCP-Mandate` header, its signature made by the key it carries and names as issuer.

    Refused: mandate_missing, chain_unsupported, mandate_malformed, private_key_received, mandate_signature,
    issuer_mismatch.
    """
    if not header:
        raise refused("mandate_missing")
    if "," in header:
        raise refused("chain_unsupported")
    if len(header) > _MAX_TOKEN:
        raise refused("mandate_malformed", "The mandate is longer than this endpoint reads.")
    try:
        read = read_jws(header).payload
        refuse_private_parts(strictjson.parse(read))
        payload = strictjson.decode(read, MandateClaims)
        key = public_key(payload.principal_jwk)
    except Refused as error:
        raise _malformed(error) from None
    if payload.iss != principal_urn(key):
        raise refused("issuer_mismatch")
    try:
        verified = verify_jws(header, typ=MANDATE_TYP, key=key, claims=MandateClaims)
    except Refused as error:
        raise (refused("mandate_signature") if error.refusal.code == "bad_signature" else _malformed(error)) from None
    return Mandate(claims=verified.claims, token=header, sha256=sha256_b64u(header))


def _malformed(error: Refused) -> Refused:
    if error.refusal.code == "private_key_received":
        return refused("private_key_received")
    found = error.refusal
    return refused("mandate_malformed", f"The mandate cannot be read: {found.message}", place=found.place)


def check_mandate(mandate: Mandate, ask: Ask, now: datetime) -> Checked:
    """That the mandate allows what is asked, checked in the order of spec section 6.3. Refused otherwise."""
    claims = mandate.claims
    _check_times(claims, now)
    if ask.host not in audience(claims):
        raise refused("wrong_audience")
    if claims.cnf.jkt != ask.agent:
        raise refused("agent_mismatch")
    if ask.principal is not None and ask.principal != claims.iss:
        raise refused("wrong_principal")
    if ask.action.scope not in claims.scope:
        raise refused("scope_missing", f"The mandate does not allow {ask.action.scope}.")
    _check_bookings(claims, ask)
    closed = _check_closed(claims, ask)
    if not ask.action.is_management or ask.action is Action.ACCEPT_CHANGE:
        _check_service(claims, ask, closed=closed)
        _check_window(claims, ask, closed=closed)
        _check_price(claims, ask, closed=closed)
    _check_status(claims, ask)
    return Checked(mandate=mandate, approved="offer" if closed else "limits")


def _check_times(claims: MandateClaims, now: datetime) -> None:
    issued, expires = from_epoch(claims.iat), from_epoch(claims.exp)
    if expires <= issued:
        raise refused("mandate_malformed", "The mandate ends before it begins.", place="$.exp")
    if claims.constraints.bookings is None and expires - issued > LONGEST_BUYING:
        raise refused("lifetime_too_long")
    if issued > now + SKEW:
        raise refused("not_yet_valid")
    if now >= expires + SKEW:
        raise refused("mandate_expired")


def _check_bookings(claims: MandateClaims, ask: Ask) -> None:
    named = claims.constraints.bookings
    if named is not None and not ask.action.is_management:
        raise refused("management_only")
    if not ask.action.is_management:
        return
    # Without `bookings` a mandate reaches what was booked under it and nothing else.
    covered = ask.booking_id in named if named is not None else ask.booked_under == claims.jti
    if not covered:
        raise refused("booking_not_covered")


def _check_closed(claims: MandateClaims, ask: Ask) -> bool:
    """Whether this is the person's signature over the offer being accepted. Refused: closed_elsewhere and kin."""
    approved = claims.constraints.offer_sha256
    if approved is not None:
        if not ask.action.is_acceptance:
            raise refused("scope_missing", "A closed mandate accepts one offer and does nothing else.")
        if approved != ask.offer_sha256:
            raise refused("closed_elsewhere")
    if ask.action.is_acceptance and ask.closed_mandate == "always":
        if approved is None:
            raise refused("closed_mandate_required")
        if claims.consent.mode != "human_present":
            raise refused("mode_not_accepted")
    return approved is not None


def _check_service(claims: MandateClaims, ask: Ask, *, closed: bool) -> None:
    services = claims.constraints.services
    if services is None and (closed or ask.action.is_management):
        return
    if services is None or ask.service_id not in services:
        raise refused("service_not_covered")


def _check_window(claims: MandateClaims, ask: Ask, *, closed: bool) -> None:
    window = claims.constraints.window
    if window is None and closed:
        return
    if window is None or ask.start is None:
        raise refused("outside_window")
    opens, closes = _instant(window.not_before), _instant(window.not_after)
    # The last moment that has to lie inside: the end, or of an open-ended appointment the start (SCH-078).
    if ask.start < opens or (ask.end or ask.start) > closes:
        raise refused("outside_window")


def _check_price(claims: MandateClaims, ask: Ask, *, closed: bool) -> None:
    if ask.total is None:
        return
    text = claims.constraints.max_price
    if text is None:
        if closed:
            return
        raise refused("price_not_covered")
    ceiling = _ceiling(claims)
    if ceiling.currency != ask.total.currency:
        raise refused("wrong_currency")
    if ask.total.minor > ceiling.minor:
        raise refused("above_price")


def _check_status(claims: MandateClaims, ask: Ask) -> None:
    if claims.constraints.shared_limit is not None:
        raise refused("claim_unavailable")
    if claims.status is None:
        return
    if ask.status == "unread":
        raise refused("status_unavailable")
    if ask.status == "revoked":
        raise refused("revoked")


def _instant(text: str) -> datetime:
    try:
        return parse_instant(text)
    except Refused as error:
        raise refused("mandate_malformed", error.refusal.message, place="$.constraints.window") from None


def _ceiling(claims: MandateClaims) -> Money:
    assert claims.constraints.max_price is not None
    try:
        return read_money(claims.constraints.max_price)
    except Refused as error:
        raise refused("mandate_malformed", error.refusal.message, place="$.constraints.max_price") from None


def check_limit(mandate: Mandate, used: int) -> None:
    """That one more hold fits: `used` counts live holds, live bookings and waitlist entries under it here (SCH-080).

    Refused: limit_reached, also when the mandate states no number, since an absent limit allows nothing.
    """
    allowed = mandate.claims.constraints.max_bookings
    if allowed is None or used >= allowed:
        raise refused("limit_reached")
