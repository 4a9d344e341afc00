"""Taking the person's answers: is this signed document a yes to exactly what was asked? (spec section 15.3)

An answer counts only as a mandate signed by this person's own key, bound to this agent, for this host, with the terms
of the question and no others. Everything else is no: a bare grant (consent_unsigned), a refusal (consent_refused),
another document (consent_mismatch).
"""

from __future__ import annotations

from datetime import datetime

from sayso.core.instants import from_epoch
from sayso.core.refusal import Refused
from sayso.governance.consent import Answer, Consent, Evidence
from sayso.proof.hashes import sha256_b64u
from sayso.scheduling.guest.kept import KeptMandate, MandateKind
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.draft import LimitsDraft
from sayso.scheduling.terms.mandate import Constraints, MandateClaims, Scope, audience, management_scope
from sayso.scheduling.terms.mandate_checks import Mandate, verify_mandate

__all__ = ("Expected", "consent_of", "expected_limits", "expected_management", "expected_offer", "taken")


class Expected:
    """What a signed answer has to say, and under what name it is kept. Several hosts stand in `host` with a space
    between them.
    """

    def __init__(
        self, kind: MandateKind, subject: str, host: str, scope: tuple[Scope, ...], constraints: Constraints
    ) -> None:
        self.kind = kind
        self.subject = subject
        self.host = host
        self.scope = scope
        self.constraints = constraints

    def is_met_by(self, claims: MandateClaims) -> bool:
        """Whether the claims are these terms and no others. A status is the person's to add: it takes back, no more."""
        hosts = " ".join(audience(claims))
        return hosts == self.host and claims.scope == self.scope and claims.constraints == self.constraints


def expected_limits(draft: LimitsDraft, subject: str) -> Expected:
    """The buying mandate of a draft."""
    constraints = Constraints(
        services=draft.services, window=draft.window, max_price=draft.max_price, max_bookings=draft.max_bookings
    )
    return Expected("buying", subject, draft.host, draft.scope, constraints)


def expected_offer(host: str, offer_sha256: str, booking_id: str | None = None) -> Expected:
    """The closed mandate over an offer; `booking_id` for a change offer."""
    bookings = None if booking_id is None else (booking_id,)
    scope: tuple[Scope, ...] = ("book",) if booking_id is None else ("reschedule",)
    return Expected("closed", offer_sha256, host, scope, Constraints(offer_sha256=offer_sha256, bookings=bookings))


def expected_management(host: str, booking_id: str, limits: Constraints, *, reconfirms: bool = False) -> Expected:
    """The management mandate of a booking, bounded as its buying mandate was; with `reconfirms` it may answer a host
    that asks whether the guest is still coming.
    """
    constraints = Constraints(bookings=(booking_id,), window=limits.window, max_price=limits.max_price)
    return Expected("management", booking_id, host, management_scope(reconfirms=reconfirms), constraints)


def taken(
    answer: Answer, expected: Expected, *, principal: str, agent: str, now: datetime
) -> tuple[KeptMandate, Mandate]:
    """The mandate an answer carries. Refused: consent_refused, consent_unsigned, consent_mismatch, mandate_expired."""
    if not answer.granted:
        raise refused("consent_refused")
    if answer.document is None:
        raise refused("consent_unsigned")
    try:
        mandate = verify_mandate(answer.document)
    except Refused as error:
        raise refused("consent_mismatch", f"What came back is no signed mandate: {error.refusal.message}") from None
    claims = mandate.claims
    if mandate.principal != principal:
        raise refused("consent_mismatch", "It is signed by another person's key.")
    if claims.cnf.jkt != agent or not expected.is_met_by(claims):
        raise refused("consent_mismatch")
    if from_epoch(claims.exp) <= now:
        raise refused("mandate_expired")
    kept = KeptMandate(
        jti=claims.jti,
        host=expected.host,
        kind=expected.kind,
        subject=expected.subject,
        token=answer.document,
        expires=from_epoch(claims.exp),
    )
    return kept, mandate


def consent_of(kept: KeptMandate) -> Consent:
    """Governance's value for a mandate: the person's signature over this very act, or over limits that cover it."""
    claims = verify_mandate(kept.token).claims
    return Consent(
        by=claims.iss,
        evidence=Evidence.SIGNED_LIMITS if claims.constraints.offer_sha256 is None else Evidence.SIGNED_ACT,
        subject_sha256=claims.constraints.offer_sha256
        or (kept.subject if kept.kind == "buying" else sha256_b64u(kept.subject)),
        mode=claims.consent.mode,
        document=kept.token,
        document_sha256=sha256_b64u(kept.token),
    )
