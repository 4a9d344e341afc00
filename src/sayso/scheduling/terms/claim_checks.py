"""Whether a claim on a shared limit and its answer can be believed (spec section 6.11; SCH-092, SCH-099). Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

from sayso.core import strictjson
from sayso.core.instants import from_epoch
from sayso.core.refusal import Refused
from sayso.proof.jws import read_jws, verify_jws
from sayso.proof.keys import PublicKey
from sayso.scheduling.terms.claim import (
    CLAIM_REQUEST_TYP,
    CLAIM_TYP,
    ClaimAnswer,
    ClaimAsk,
    ClaimClaims,
    ClaimRequestClaims,
)
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.discovery_checks import signing_key

__all__ = ("named_claimant", "verify_claim", "verify_claim_request")

_OLDEST, _AHEAD = timedelta(seconds=60), timedelta(seconds=30)


def named_claimant(data: bytes) -> str:
    """The host that a request claims to come from, before anything is proved. Refused where it is no request."""
    return strictjson.decode(read_jws(strictjson.decode(data, ClaimAsk).request).payload, ClaimRequestClaims).iss


def verify_claim_request(data: bytes, document: Discovery, mandate_sha256: str, now: datetime) -> ClaimRequestClaims:
    """A request that the host signed just now for that mandate. Refused: schema_invalid, unknown_key, bad_signature."""
    token = strictjson.decode(data, ClaimAsk).request
    key = signing_key(document, read_jws(token).header.kid)
    asked = verify_jws(token, typ=CLAIM_REQUEST_TYP, key=key, claims=ClaimRequestClaims).claims
    if (asked.iss, asked.mandate) != (document.host, mandate_sha256) or not _is_recent(asked.iat, now):
        raise refused("schema_invalid", "The claim is another host's, about another mandate, or old.")
    return asked


def verify_claim(
    data: bytes, key: PublicKey, asked: ClaimRequestClaims, now: datetime
) -> Literal["taken", "returned", "refused"]:
    """What the key app says of exactly the unit that was asked about. Refused: claim_unavailable."""
    try:
        said = verify_jws(strictjson.decode(data, ClaimAnswer).claim, typ=CLAIM_TYP, key=key, claims=ClaimClaims).claims
    except Refused:
        raise refused("claim_unavailable") from None
    if (said.host, said.unit, said.mandate) != (asked.iss, asked.unit, asked.mandate) or not _is_recent(said.iat, now):
        raise refused("claim_unavailable")
    return said.state


def _is_recent(iat: int, now: datetime) -> bool:
    return now - _OLDEST <= from_epoch(iat) <= now + _AHEAD
