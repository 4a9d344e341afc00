"""A link of a chain: what an agent passes on of a mandate it holds, to another agent (spec section 6.8; SCH-090).

It travels after its parent in `SchCP-Mandate`, under the mandate's own `typ`, signed by the key that the parent's `cnf`
names. It speaks for the same principal and carries no consent: nobody was asked, because nothing new is allowed.
Judging a chain is `chain_checks`.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from sayso.scheduling.terms.identity import Jwk
from sayso.scheduling.terms.mandate import Bound, Constraints, MandateClaims, Scope
from sayso.scheduling.terms.wire import Digest, HostName, OpaqueId, PrincipalUrn, Seconds, UrlText

__all__ = ("DelegationClaims", "LinkClaims")


class DelegationClaims(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """`parent` is the hash of the compact token before it, `agent_jwk` the key that signs this one."""

    iss: PrincipalUrn
    aud: HostName | Annotated[tuple[HostName, ...], Meta(min_length=2, max_length=16)]
    iat: Seconds
    exp: Seconds
    jti: OpaqueId
    parent: Digest
    agent_jwk: Jwk
    cnf: Bound
    scope: Annotated[tuple[Scope, ...], Meta(min_length=1, max_length=4)]
    constraints: Constraints
    status: UrlText | None = None
    status_jwk: Jwk | None = None


LinkClaims = MandateClaims | DelegationClaims
"""The claims of any link: the root's, or those of one that was passed on."""
