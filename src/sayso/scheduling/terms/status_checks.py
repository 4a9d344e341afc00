"""Whether an answer about a mandate's status can be believed, and for how long (spec section 6.9; SCH-094, SCH-098).

Pure: bytes, the link that was asked about and the time come in. Fetching is the host's work.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from sayso.core import strictjson
from sayso.core.instants import from_epoch
from sayso.core.refusal import Refused
from sayso.proof.jws import verify_jws
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.delegation import LinkClaims
from sayso.scheduling.terms.identity import public_key
from sayso.scheduling.terms.status import STATUS_TYP, StatusAnswer, StatusClaims

__all__ = ("FRESH_FOR", "USABLE_FOR", "KeptStatus", "is_fresh", "is_usable", "verify_status")

FRESH_FOR = timedelta(seconds=30)
"""An answer serves this long without asking again."""

USABLE_FOR = timedelta(minutes=10)
"""An answer serves this long in all while the URL cannot be read."""

_OLDEST, _AHEAD = timedelta(seconds=60), timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class KeptStatus:
    """An answer and when it was read."""

    state: Literal["active", "revoked"]
    read_at: datetime


def is_fresh(kept: KeptStatus, now: datetime) -> bool:
    """Whether it may be used without asking."""
    return kept.read_at <= now < kept.read_at + FRESH_FOR


def is_usable(kept: KeptStatus, now: datetime) -> bool:
    """Whether it may be used although nobody answers now."""
    return kept.read_at <= now < kept.read_at + USABLE_FOR


def verify_status(data: bytes, claims: LinkClaims, sha256: str, now: datetime) -> KeptStatus:
    """What the answer says of that link. Refused: status_unavailable, whatever is wrong: it then says nothing."""
    try:
        if claims.status_jwk is None:
            raise refused("status_unavailable")
        token = strictjson.decode(data, StatusAnswer).status
        said = verify_jws(token, typ=STATUS_TYP, key=public_key(claims.status_jwk), claims=StatusClaims).claims
    except Refused:
        raise refused("status_unavailable") from None
    is_about_it = (said.iss, said.jti, said.mandate) == (claims.iss, claims.jti, sha256)
    if not is_about_it or not now - _OLDEST <= from_epoch(said.iat) <= now + _AHEAD:
        raise refused("status_unavailable")
    return KeptStatus(said.state, now)
