"""What somebody the host trusts says of a person, and whether it counts (spec section 8.7; SCH-282 to SCH-284).

An attester checks something scarce, such as a phone number that nobody else gave, and signs one statement about one
principal key. A host lists the attesters it listens to, with their keys, in its own discovery document; nothing is
fetched. A statement that does not count is as if it were not there: attestations only add.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

import msgspec

from sayso.core import strictjson
from sayso.core.instants import epoch
from sayso.core.refusal import Refused
from sayso.proof.jws import Header, read_jws, verify_jws
from sayso.proof.keys import PublicKey
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Attester, Trust
from sayso.scheduling.terms.identity import public_key
from sayso.scheduling.terms.wire import DomainName, OpaqueId, PrincipalUrn, Seconds

__all__ = ("ATTESTATION_TYP", "AttestationClaims", "vouchers")

ATTESTATION_TYP = "schcp-attestation+jwt"


class AttestationClaims(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One checked fact (`assurance`, such as `unique_phone`) about one principal key, until `exp`."""

    iss: DomainName
    sub: PrincipalUrn
    assurance: OpaqueId
    exp: Seconds


def vouchers(tokens: Iterable[str], trust: Trust, principal: str, now: datetime) -> tuple[str, ...]:
    """The trusted attesters whose statements about this principal hold now, in the order of the tokens, each once.

    Unknown issuers, bad signatures, other people's statements and those that have expired are passed over.
    """
    known = {attester.iss: attester for attester in trust.attesters}
    found: dict[str, None] = {}
    for token in tokens:
        with suppress(Refused):
            attester = known.get(strictjson.decode(read_jws(token).payload, AttestationClaims).iss)
            if attester is not None and _holds(token, attester, principal, now):
                found[attester.iss] = None
    return tuple(found)


def _holds(token: str, attester: Attester, principal: str, now: datetime) -> bool:
    """Refused, whatever is wrong with the signature: with exactly the key that the statement names."""

    def named(header: Header) -> PublicKey:
        key = next((each for each in attester.keys if each.kid == header.kid), None)
        if key is None:
            raise refused("unknown_key")
        return public_key(key.jwk)

    claims = verify_jws(token, typ=ATTESTATION_TYP, key=named, claims=AttestationClaims).claims
    return claims.iss == attester.iss and claims.sub == principal and epoch(now) < claims.exp
