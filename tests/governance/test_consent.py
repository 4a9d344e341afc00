"""The one question: did the person provably agree to exactly this?"""

from __future__ import annotations

import itertools

import msgspec
import pytest

from sayso.core.refusal import Refused
from sayso.governance.acts import Act, ActClass
from sayso.governance.consent import Consent, Evidence, decide


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


def act(*, touches_others: bool) -> Act:
    return Act(
        name="hold_slot",
        act_class=ActClass.EXECUTION,
        title="Holding a time",
        description="",
        arguments=Nothing,
        touches_others=touches_others,
    )


def evidence(kind: Evidence) -> Consent:
    return Consent(by="urn:someone", evidence=kind, subject_sha256=f"hash-{kind.name}", mode="human_present")


@pytest.mark.parametrize("touches_others", [True, False])
def test_no_evidence_is_a_no(touches_others: bool) -> None:
    """Fail-open hides in the empty list."""
    with pytest.raises(Refused) as refused:
        decide(act(touches_others=touches_others), [])
    assert refused.value.refusal.code == "consent_required"


@pytest.mark.parametrize("kind", [Evidence.GATE_DECISION, Evidence.GRANT])
def test_a_grant_or_a_gate_decision_alone_never_covers_an_act_on_another_party(kind: Evidence) -> None:
    """A message that says yes is not a signature, however many of them there are."""
    with pytest.raises(Refused) as refused:
        decide(act(touches_others=True), [evidence(kind), evidence(kind)])
    assert "does not count" in (refused.value.refusal.help or "")


@pytest.mark.parametrize("kind", [Evidence.SIGNED_ACT, Evidence.SIGNED_LIMITS])
def test_a_signature_covers_an_act_on_another_party(kind: Evidence) -> None:
    """Signed over the act itself, or over limits that cover it."""
    assert decide(act(touches_others=True), [evidence(kind)]) == evidence(kind)


def test_a_grant_is_enough_for_an_act_that_touches_nobody_else() -> None:
    """Workspace tools run on the person's plain yes."""
    assert decide(act(touches_others=False), [evidence(Evidence.GRANT)]) == evidence(Evidence.GRANT)


@pytest.mark.parametrize("order", list(itertools.permutations([Evidence.SIGNED_LIMITS, Evidence.SIGNED_ACT])))
def test_the_strongest_evidence_is_the_one_recorded(order: tuple[Evidence, ...]) -> None:
    """Whatever order the sources answer in."""
    assert decide(act(touches_others=True), [evidence(kind) for kind in order]) == evidence(Evidence.SIGNED_ACT)
