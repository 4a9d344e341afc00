"""A signed answer of the person whose calendar it is, to exactly one offer (spec section 25; SCH-180, SCH-264).

`schcp-acceptance+jwt`: a yes or a no by the owner's own key, or a yes by the agent that a rule of theirs names, which
then carries the rule. Judging one is `acceptance_checks`.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sayso.scheduling.terms.identity import Jwk
from sayso.scheduling.terms.mandate import ConsentRecord
from sayso.scheduling.terms.rule import RuleToken
from sayso.scheduling.terms.wire import Digest, OpaqueId, PrincipalUrn, Seconds, Sentence, Token, whole

__all__ = ("ACCEPTANCE_TYP", "ANSWER_MEDIA_TYPE", "AcceptanceClaims", "AcceptanceToken", "AnswerDraft")

ACCEPTANCE_TYP = "schcp-acceptance+jwt"
ANSWER_MEDIA_TYPE = "application/schcp-answer+json"

AcceptanceToken = Annotated[
    str, Meta(pattern=whole("[A-Za-z0-9_-]+[.][A-Za-z0-9_-]+[.][A-Za-z0-9_-]+"), max_length=8192)
]
"""An acceptance as a compact JWS."""


class AcceptanceClaims(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """`iss` is the owner, whoever signed. The owner's own answer has `principal_jwk` and `consent`; one by rule has
    `agent_jwk` and `rule`, and is always a yes. `message` are the person's words with a no.
    """

    iss: PrincipalUrn
    offer_sha256: Digest
    answer: Literal["yes", "no"]
    iat: Seconds
    jti: OpaqueId
    principal_jwk: Jwk | None = None
    consent: ConsentRecord | None = None
    message: Sentence | None = None
    agent_jwk: Jwk | None = None
    rule: RuleToken | None = None


class AnswerDraft(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What waits for the owner's answer, and which one is to be signed (`application/schcp-answer+json`).

    `offer` is the calendar's own signed offer that a guest accepted.
    """

    offer: Token
    answer: Literal["yes", "no"]
    message: Sentence | None = None
