"""A rule: a yes that the owner of a person's calendar signs in advance (spec section 25; SCH-263 to SCH-267).

`schcp-rule+jwt`, signed by the owner's key. It names the one agent key that may say yes by it, and says in the person's
own words what it is for; what it limits stands beside them. Judging one is `rule_checks`.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from sayso.scheduling.terms.discovery import Weekday
from sayso.scheduling.terms.identity import Jwk
from sayso.scheduling.terms.mandate import Bound, ConsentRecord
from sayso.scheduling.terms.wire import (
    HostName,
    IdempotencyKey,
    Instant,
    OpaqueId,
    PrincipalUrn,
    Seconds,
    Thumbprint,
    Words,
    whole,
)

__all__ = (
    "RULE_MEDIA_TYPE",
    "RULE_TYP",
    "KeepRuleRequest",
    "KeptRule",
    "KeptRules",
    "RuleClaims",
    "RuleDraft",
    "RuleToken",
    "WithdrawRuleRequest",
)

RULE_TYP = "schcp-rule+jwt"
RULE_MEDIA_TYPE = "application/schcp-rule+json"

RuleToken = Annotated[str, Meta(pattern=whole("[A-Za-z0-9_-]+[.][A-Za-z0-9_-]+[.][A-Za-z0-9_-]+"), max_length=4096)]
"""A rule as a compact JWS. It travels inside acceptances, which travel inside receipts, so it is kept short."""

Services = Annotated[tuple[OpaqueId, ...], Meta(min_length=1, max_length=8)]
Weekdays = Annotated[tuple[Weekday, ...], Meta(min_length=1, max_length=7)]
Organisers = Annotated[tuple[PrincipalUrn, ...], Meta(min_length=1, max_length=8)]


class RuleClaims(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """`host` is the calendar, `cnf` the agent key, `words` the person's own. What is absent is not limited.

    `weekdays` are those of the calendar's zone. Without `exp` the rule stands until it is withdrawn.
    """

    iss: PrincipalUrn
    host: HostName
    iat: Seconds
    jti: OpaqueId
    cnf: Bound
    principal_jwk: Jwk
    words: Words
    consent: ConsentRecord
    exp: Seconds | None = None
    services: Services | None = None
    weekdays: Weekdays | None = None
    organisers: Organisers | None = None


class RuleDraft(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A rule before it is signed: what a key app is asked for (`application/schcp-rule+json`)."""

    host: HostName
    agent: Thumbprint
    words: Words
    expires: Instant | None = None
    services: Services | None = None
    weekdays: Weekdays | None = None
    organisers: Organisers | None = None


class KeepRuleRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`POST /host/rules`: the calendar keeps a rule that its owner signed."""

    idempotency_key: IdempotencyKey
    rule: RuleToken


class WithdrawRuleRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`POST /host/rules/{rule_id}/withdraw`: from now on nothing is answered by it. That needs no signature."""

    idempotency_key: IdempotencyKey


class KeptRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A rule as its calendar keeps it; `rule_id` is its `jti`."""

    rule_id: OpaqueId
    rule: RuleToken
    kept_at: Instant
    withdrawn_at: Instant | None = None


class KeptRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`GET /host/rules`: all of them, the newest first."""

    rules: Annotated[tuple[KeptRule, ...], Meta(max_length=100)]
