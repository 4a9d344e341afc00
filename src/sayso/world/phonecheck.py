"""PhoneCheck: a simulated verifier that vouches for one key per telephone number (SCH-371).

Every host of the world listens to it. Nobody is called: whoever asks is believed, so its key is no secret and stands
here; a real attester's word is worth what its checks are worth.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from sayso.core.instants import epoch
from sayso.proof.jws import sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.terms.attestation import ATTESTATION_TYP, AttestationClaims
from sayso.scheduling.terms.discovery import Attester, PublishedKey
from sayso.scheduling.terms.identity import jwk_of

__all__ = ("PHONECHECK", "attest")

_KEY: Final = PrivateKey.from_seed(b"phonecheck.example is simulated.")
_LASTS: Final = timedelta(days=90)

PHONECHECK: Final = Attester(
    iss="phonecheck.example",
    title="PhoneCheck",
    keys=(PublishedKey(kid=_KEY.public.thumbprint, use="sign", jwk=jwk_of(_KEY.public)),),
)


def attest(principal: str, now: datetime) -> str:
    """Its statement that nobody else gave this person's telephone number, good for ninety days."""
    claims = AttestationClaims(iss=PHONECHECK.iss, sub=principal, assurance="unique_phone", exp=epoch(now + _LASTS))
    return sign_jws(claims, _KEY, typ=ATTESTATION_TYP, kid=_KEY.public.thumbprint)
