"""Whether each link of a chain may stand behind the one before it (spec section 6.8; SCH-089 to SCH-091, SCH-103).

Pure. A link is signed by the key its parent was given to, names that parent by hash, speaks for the same principal, and
can only narrow scope, audience, constraints and expiry. What a link allows is compared with what is asked elsewhere
(`mandate_checks`), link by link: a limit that stands anywhere in the chain binds.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sayso.core import strictjson
from sayso.core.instants import parse_instant
from sayso.core.money import MoneyText, read_money
from sayso.core.refusal import Refused
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import read_jws, verify_payload
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.delegation import DelegationClaims, LinkClaims
from sayso.scheduling.terms.identity import public_key, refuse_private_parts
from sayso.scheduling.terms.mandate import MANDATE_TYP, Constraints, TimeWindow, audience

__all__ = ("LONGEST_CHAIN", "MandateLink", "malformed_mandate", "verify_link")

LONGEST_CHAIN = 3
"""Links of the longest chain, the root among them (SCH-103)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MandateLink:
    """A link whose signature holds and that only narrows its parent. `signer` is the thumbprint of who passed it on."""

    claims: DelegationClaims
    token: str
    sha256: str
    signer: str


def verify_link(token: str, parent: LinkClaims, parent_sha256: str) -> MandateLink:
    """A link behind its parent. Refused: mandate_malformed, private_key_received, chain_broken, chain_widens."""
    try:
        seen = read_jws(token)
        payload = strictjson.parse(seen.payload)
        refuse_private_parts(payload)
        claims = strictjson.convert(payload, DelegationClaims)
        key = public_key(claims.agent_jwk)
    except Refused as error:
        raise malformed_mandate(error) from None
    if key.thumbprint != parent.cnf.jkt:
        raise refused("chain_broken", "A link is signed by another key than its parent was given to.")
    try:
        verify_payload(seen, typ=MANDATE_TYP, key=key)
    except Refused as error:
        if error.refusal.code == "bad_signature":
            raise refused("chain_broken", "The signature over a link does not hold.") from None
        raise malformed_mandate(error) from None
    if claims.iss != parent.iss or claims.parent != parent_sha256:
        raise refused("chain_broken", "A link does not belong to the one before it.")
    _check_narrows(claims, parent)
    return MandateLink(claims=claims, token=token, sha256=sha256_b64u(token), signer=key.thumbprint)


def malformed_mandate(error: Refused) -> Refused:
    """Why a token is none, in words of its own."""
    if error.refusal.code == "private_key_received":
        return refused("private_key_received")
    found = error.refusal
    return refused("mandate_malformed", f"The mandate cannot be read: {found.message}", place=found.place)


def _check_narrows(child: DelegationClaims, parent: LinkClaims) -> None:
    if child.exp > parent.exp:
        raise _widens("exp")
    if not set(child.scope) <= set(parent.scope):
        raise _widens("scope")
    if not set(audience(child)) <= set(audience(parent)):
        raise _widens("aud")
    _check_limits(child.constraints, parent.constraints)


def _check_limits(child: Constraints, parent: Constraints) -> None:
    """A limit that the parent has, the child repeats or narrows; one of its own narrows by itself."""
    if not _is_within(child.services, parent.services):
        raise _widens("constraints.services")
    if not _is_within(child.bookings, parent.bookings):
        raise _widens("constraints.bookings")
    if parent.offer_sha256 not in (None, child.offer_sha256):
        raise _widens("constraints.offer_sha256")
    # Whose limit is shared is the person's to say: their key app counts it, so an agent can neither drop nor add it.
    if child.shared_limit != parent.shared_limit:
        raise _widens("constraints.shared_limit")
    if parent.max_bookings is not None and not 0 < (child.max_bookings or 0) <= parent.max_bookings:
        raise _widens("constraints.max_bookings")
    if parent.window is not None and not _is_inside(child.window, parent.window):
        raise _widens("constraints.window")
    if parent.max_price is not None and not _is_below(child.max_price, parent.max_price):
        raise _widens("constraints.max_price")


def _is_within(child: tuple[str, ...] | None, parent: tuple[str, ...] | None) -> bool:
    return parent is None or (child is not None and set(child) <= set(parent))


def _is_inside(child: TimeWindow | None, parent: TimeWindow) -> bool:
    if child is None:
        return False
    opens, closes = _instant(child.not_before), _instant(child.not_after)
    return _instant(parent.not_before) <= opens and closes <= _instant(parent.not_after)


def _instant(text: str) -> datetime:
    try:
        return parse_instant(text)
    except Refused as error:
        raise malformed_mandate(error) from None


def _is_below(child: MoneyText | None, parent: MoneyText) -> bool:
    if child is None:
        return False
    try:
        ceiling, over = read_money(child), read_money(parent)
    except Refused as error:
        raise malformed_mandate(error) from None
    return ceiling.currency == over.currency and ceiling.minor <= over.minor


def _widens(what: str) -> Refused:
    return refused("chain_widens", f"A link allows more than the one before it: {what}.", place=f"$.{what}")
