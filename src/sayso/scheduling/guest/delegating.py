"""Passing on a mandate to another agent, or a part of it (spec section 6.8; SCH-090).

The agent signs with its own key; no key app is asked, because nothing new is allowed. What would widen the mandate is
refused here already, as every host refuses it.
"""

from __future__ import annotations

from datetime import datetime

from sayso.core.instants import epoch, from_epoch
from sayso.proof.jws import sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.terms.delegation import DelegationClaims
from sayso.scheduling.terms.identity import jwk_of
from sayso.scheduling.terms.mandate import MANDATE_TYP, Bound, Constraints, Scope
from sayso.scheduling.terms.mandate_checks import Mandate, verify_mandate

__all__ = ("pass_on",)


def pass_on(
    mandate: Mandate,
    key: PrivateKey,
    *,
    to: str,
    jti: str,
    now: datetime,
    scope: tuple[Scope, ...] | None = None,
    constraints: Constraints | None = None,
    expires: datetime | None = None,
) -> Mandate:
    """The mandate with one more link, usable by the agent whose key has the thumbprint `to`; what is left out stays as
    it is.

    `key` is the agent's that may use the mandate now. Refused: chain_broken, chain_widens, chain_too_long.
    """
    parent = mandate.links[-1] if mandate.links else mandate
    claims = DelegationClaims(
        iss=mandate.principal,
        aud=parent.claims.aud,
        iat=epoch(now),
        exp=epoch(expires or from_epoch(parent.claims.exp)),
        jti=jti,
        parent=parent.sha256,
        agent_jwk=jwk_of(key.public),
        cnf=Bound(jkt=to),
        scope=scope or parent.claims.scope,
        constraints=constraints or parent.claims.constraints,
    )
    return verify_mandate(f"{mandate.token},{sign_jws(claims, key, typ=MANDATE_TYP)}")
