"""Whether a mandate allows what an agent asks (spec sections 6.2 and 6.3; SCH-082).

Two steps, both pure. `verify_mandate` reads the header and proves who signed; `check_mandate` compares what was signed
with what is asked. Every check runs before anything is allocated; the first that fails is reported, and an agent must
not depend on which (SCH-084). Left to the host: counting what lives under the mandate (`check_limit` judges the count),
the revocation status it fetched, contact lists.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Literal

from sayso.core import strictjson
from sayso.core.instants import from_epoch, parse_instant
from sayso.core.money import Money, read_money
from sayso.core.refusal import Refused
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import read_jws, verify_payload
from sayso.scheduling.terms.chain_checks import LONGEST_CHAIN, MandateLink, malformed_mandate, verify_link
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.delegation import LinkClaims
from sayso.scheduling.terms.identity import principal_urn, public_key, refuse_private_parts
from sayso.scheduling.terms.mandate import MANDATE_TYP, ConsentMode, MandateClaims, Scope, audience
from sayso.scheduling.terms.status import Standing

__all__ = (
    "LONGEST_BUYING",
    "SKEW",
    "Action",
    "Ask",
    "Checked",
    "Mandate",
    "check_limit",
    "check_mandate",
    "check_shown",
    "is_current",
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
    ACCEPT_INVITATION = "book:invitation"
    ACCEPT_CHANGED_INVITATION = "reschedule:invitation"
    DECLINE_INVITATION = "cancel:invitation"
    RECONFIRM = "book:reconfirm"
    RECONFIRM_CHANGED = "reschedule:reconfirm"

    @property
    def scope(self) -> Scope:
        return _SCOPES[self]

    @property
    def is_acceptance(self) -> bool:
        """Whether it says yes to an offer, which is what a closed mandate is for."""
        return self in (Action.CONFIRM, Action.ACCEPT_CHANGE) or self.answers_invitation

    @property
    def answers_invitation(self) -> bool:
        """Whether a participant says yes or no to somebody else's booking, for themselves alone (SCH-243)."""
        return self in (Action.ACCEPT_INVITATION, Action.ACCEPT_CHANGED_INVITATION, Action.DECLINE_INVITATION)

    @property
    def is_management(self) -> bool:
        """Whether it acts on a booking that exists."""
        return self not in (Action.HOLD, Action.CONFIRM, Action.ACCEPT_INVITATION, Action.DECLINE_INVITATION)


_SCOPES: dict[Action, Scope] = {
    Action.HOLD: "hold",
    Action.CONFIRM: "book",
    Action.CANCEL: "cancel",
    Action.REQUEST_CHANGE: "reschedule",
    Action.ACCEPT_CHANGE: "reschedule",
    Action.ACCEPT_INVITATION: "book",
    Action.ACCEPT_CHANGED_INVITATION: "reschedule",
    Action.DECLINE_INVITATION: "cancel",
    Action.RECONFIRM: "book",
    Action.RECONFIRM_CHANGED: "reschedule",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mandate:
    """A mandate whose signature and issuer hold, with the links it was passed on by.

    `claims`, `root_token` and `sha256` are of the mandate that the person signed, `token` is the whole chain as it was
    presented. `standing` is what the links' status URLs said, where they were asked.
    """

    claims: MandateClaims
    token: str
    sha256: str
    links: tuple[MandateLink, ...] = ()
    standing: Standing = "unread"

    @property
    def principal(self) -> str:
        return self.claims.iss

    @property
    def root_token(self) -> str:
        return self.token.partition(",")[0]

    @property
    def all_claims(self) -> tuple[LinkClaims, ...]:
        """Every link's claims, root first: each of them is checked on every use (SCH-091)."""
        return (self.claims, *(link.claims for link in self.links))

    @property
    def bound(self) -> str:
        """The thumbprint of the one agent key that may use it: the last link's."""
        return self.all_claims[-1].cnf.jkt


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What an agent wants to do, in facts the host vouches for.

    `agent` is the thumbprint of the key that signed the request. `start`, `end` and `total` are the offer's: `end` is
    None for an open end, `total` None where no price is stated. `principal` and `booked_under` are whose hold or
    booking it is and the root jti it counts under.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The mandate allows it. `approved` says how the person agreed: to this offer, or to limits that cover it."""

    mandate: Mandate
    approved: Literal["offer", "limits"]

    @property
    def mode(self) -> ConsentMode:
        return self.mandate.claims.consent.mode


def verify_mandate(header: str | None) -> Mandate:
    """The mandate in a `SchCP-Mandate` header, its signature made by the key it carries and names as issuer, and each
    link behind it signed by whom the one before was given to.

    Refused: mandate_missing, chain_too_long, chain_broken, chain_widens, mandate_malformed, private_key_received,
    mandate_signature, issuer_mismatch.
    """
    if not header:
        raise refused("mandate_missing")
    tokens = header.split(",")
    if len(tokens) > LONGEST_CHAIN:
        raise refused("chain_too_long")
    if any(len(token) > _MAX_TOKEN for token in tokens):
        raise refused("mandate_malformed", "The mandate is longer than this endpoint reads.")
    root = _verify_root(tokens[0])
    links: list[MandateLink] = []
    for token in tokens[1:]:
        parent = links[-1] if links else root
        links.append(verify_link(token, parent.claims, parent.sha256))
    found = replace(root, token=header, links=tuple(links)) if links else root
    for claims in found.all_claims:
        _check_form(claims)
    return found


def _check_form(claims: LinkClaims) -> None:
    if (claims.status is None) != (claims.status_jwk is None):
        raise refused("mandate_malformed", "A status has a URL and the key that signs its answers.", place="$.status")
    if claims.status_jwk is not None:
        try:
            public_key(claims.status_jwk)
        except Refused as error:
            raise malformed_mandate(error) from None


def _verify_root(header: str) -> Mandate:
    try:
        seen = read_jws(header)
        read = strictjson.parse(seen.payload)
        refuse_private_parts(read)
        payload = strictjson.convert(read, MandateClaims)
        key = public_key(payload.principal_jwk)
    except Refused as error:
        raise malformed_mandate(error) from None
    if payload.iss != principal_urn(key):
        raise refused("issuer_mismatch")
    try:
        verify_payload(seen, typ=MANDATE_TYP, key=key)
    except Refused as error:
        is_forged = error.refusal.code == "bad_signature"
        raise (refused("mandate_signature") if is_forged else malformed_mandate(error)) from None
    return Mandate(claims=payload, token=header, sha256=sha256_b64u(header))


def check_mandate(mandate: Mandate, ask: Ask, now: datetime) -> Checked:
    """That every link of the mandate allows what is asked, in the order of spec section 6.3. Refused otherwise."""
    check_shown(mandate, ask.host, ask.agent, now)
    if ask.principal is not None and ask.principal != mandate.principal:
        raise refused("wrong_principal")
    _check_reach(mandate.claims, ask)
    closed = mandate.claims.constraints.offer_sha256 is not None
    for claims in mandate.all_claims:
        _check_link(claims, ask, closed=closed)
    _check_consent(mandate.claims, ask)
    _check_status(mandate)
    return Checked(mandate=mandate, approved="offer" if closed else "limits")


def check_shown(mandate: Mandate, host: str, agent: str, now: datetime) -> None:
    """That the mandate shows who is asking at this host, whatever it allows (SCH-040).

    Refused: as `check_mandate` for times, audience and agent.
    """
    for claims in mandate.all_claims:
        _check_times(claims, now)
    if not all(host in audience(claims) for claims in mandate.all_claims):
        raise refused("wrong_audience")
    if mandate.bound != agent:
        raise refused("agent_mismatch")


def is_current(mandate: Mandate, host: str, agent: str, now: datetime) -> bool:
    """Whether every link is for that host and agent and in its time: what can be known before anybody is asked."""
    try:
        check_shown(mandate, host, agent, now)
    except Refused:
        return False
    return True


def _check_link(claims: LinkClaims, ask: Ask, *, closed: bool) -> None:
    """What one link allows. `closed` tells that the root approves one offer: absent limits then do not bind."""
    if ask.action.scope not in claims.scope:
        raise refused("scope_missing", f"The mandate does not allow {ask.action.scope}.")
    _check_bookings(claims, ask)
    _check_offer(claims, ask)
    if not ask.action.is_management or ask.action in (Action.ACCEPT_CHANGE, Action.ACCEPT_CHANGED_INVITATION):
        _check_service(claims, ask, closed=closed)
        _check_window(claims, ask, closed=closed)
        _check_price(claims, ask, closed=closed)


def _check_times(claims: LinkClaims, now: datetime) -> None:
    issued, expires = from_epoch(claims.iat), from_epoch(claims.exp)
    if expires <= issued:
        raise refused("mandate_malformed", "The mandate ends before it begins.", place="$.exp")
    if claims.constraints.bookings is None and expires - issued > LONGEST_BUYING:
        raise refused("lifetime_too_long")
    if issued > now + SKEW:
        raise refused("not_yet_valid")
    if now >= expires + SKEW:
        raise refused("mandate_expired")


def _check_reach(root: MandateClaims, ask: Ask) -> None:
    """Without `bookings` a mandate reaches what was booked under it and nothing else; the root's id is what counts."""
    if ask.action.is_management and root.constraints.bookings is None and ask.booked_under != root.jti:
        raise refused("booking_not_covered")


def _check_bookings(claims: LinkClaims, ask: Ask) -> None:
    named = claims.constraints.bookings
    if named is None:
        return
    if not ask.action.is_management:
        raise refused("management_only")
    if ask.booking_id not in named:
        raise refused("booking_not_covered")


def _check_offer(claims: LinkClaims, ask: Ask) -> None:
    """A link that names an offer accepts that one and does nothing else. Refused: closed_elsewhere and kin."""
    approved = claims.constraints.offer_sha256
    if approved is None:
        return
    if not ask.action.is_acceptance:
        raise refused("scope_missing", "A closed mandate accepts one offer and does nothing else.")
    if approved != ask.offer_sha256:
        raise refused("closed_elsewhere")


def _check_consent(root: MandateClaims, ask: Ask) -> None:
    """Where the offer itself has to be approved, the person's own signature says so, never an agent's (SCH-089)."""
    if ask.action.is_acceptance and ask.closed_mandate == "always":
        if root.constraints.offer_sha256 is None:
            raise refused("closed_mandate_required")
        if root.consent.mode != "human_present":
            raise refused("mode_not_accepted")


def _check_service(claims: LinkClaims, ask: Ask, *, closed: bool) -> None:
    services = claims.constraints.services
    if services is None and (closed or ask.action.is_management):
        return
    if services is None or ask.service_id not in services:
        raise refused("service_not_covered")


def _check_window(claims: LinkClaims, ask: Ask, *, closed: bool) -> None:
    window = claims.constraints.window
    if window is None and closed:
        return
    if window is None or ask.start is None:
        raise refused("outside_window")
    opens, closes = _instant(window.not_before), _instant(window.not_after)
    # The last moment that has to lie inside: the end, or of an open-ended appointment the start (SCH-078).
    if ask.start < opens or (ask.end or ask.start) > closes:
        raise refused("outside_window")


def _check_price(claims: LinkClaims, ask: Ask, *, closed: bool) -> None:
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


def _check_status(mandate: Mandate) -> None:
    if mandate.claims.constraints.shared_limit is not None and mandate.claims.status is None:
        raise refused("claim_unavailable", "A limit that hosts share is counted at a status URL, and there is none.")
    if all(claims.status is None for claims in mandate.all_claims):
        return
    if mandate.standing == "unread":
        raise refused("status_unavailable")
    if mandate.standing == "revoked":
        raise refused("revoked")


def _instant(text: str) -> datetime:
    try:
        return parse_instant(text)
    except Refused as error:
        raise refused("mandate_malformed", error.refusal.message, place="$.constraints.window") from None


def _ceiling(claims: LinkClaims) -> Money:
    assert claims.constraints.max_price is not None
    try:
        return read_money(claims.constraints.max_price)
    except Refused as error:
        raise refused("mandate_malformed", error.refusal.message, place="$.constraints.max_price") from None


def check_limit(mandate: Mandate, used: int, *used_by_links: int) -> None:
    """That one more hold fits: `used` counts live holds, live bookings and waitlist entries under it here (SCH-080).

    `used_by_links` counts the same for each link behind the root, which has a limit of its own where it states one.
    Refused: limit_reached, also when the mandate states no number, since an absent limit allows nothing.
    """
    for claims, count in zip(mandate.all_claims, (used, *used_by_links), strict=True):
        allowed = claims.constraints.max_bookings
        if allowed is None or count >= allowed:
            raise refused("limit_reached")
