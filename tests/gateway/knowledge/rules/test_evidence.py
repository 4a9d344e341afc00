"""What a passage speaks for and against follows from its words, its places and what others wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.gateway.knowledge.rules.confidence import confidence
from sayso.gateway.knowledge.rules.evidence import (
    Finding,
    Likeness,
    Place,
    Read,
    Subject,
    find_evidence,
    from_citations,
    hypothesis_id,
    strongest,
)
from tests.gateway.knowledge.shelf import domains

RAIL, SLEEP = Place("travel.rail", 800, stated=False), Place("health.sleep", 600, stated=True)


def found(text: str, *places: Place, **more: object) -> list[Finding]:
    return find_evidence(Read(text=text, places=places or (RAIL,), **more), domains().apart)  # type: ignore[arg-type]


@pytest.mark.req("GTW-044")
@pytest.mark.parametrize(
    ("text", "kind", "supports", "rule"),
    [
        ("We plan to run a night train.", "intent", True, "states an aim: plan to"),
        ("They no longer plan to run a night train.", "intent", False, "drops an aim: no longer plan"),
        ("The goal is a night train.", "intent", True, "states an aim: goal"),
        ("The line has been shelved.", "intent", False, "drops an aim: shelved"),
        ("The bridge may fail.", "risk", True, "warns: fail"),
        ("There is no risk to the bridge.", "risk", False, "gives the all-clear: no risk"),
        ("The leak was fixed.", "risk", False, "gives the all-clear: fixed"),
    ],
)
def test_words_make_intents_and_risks(text: str, kind: str, rule: str, *, supports: bool) -> None:
    """Against goes before for, because the words against hold those for; the rule quotes the words."""
    assert found(text) == [Finding(Subject(kind, "travel.rail"), 800, supports, rule)]  # type: ignore[arg-type]


@pytest.mark.req("GTW-044")
def test_a_passage_near_two_domains_that_are_apart_bridges_them() -> None:
    """As much as the farther of the two is close; parting words turn it round."""
    bridge = Subject("bridge", "health.sleep", "travel.rail")
    assert found("Sleeper cars.", RAIL, SLEEP) == [Finding(bridge, 600, True, "near both")]
    assert found("Cars are unrelated to sleep.", RAIL, SLEEP) == [Finding(bridge, 600, False, "parts them: unrelated")]
    assert found("Teeth.", SLEEP, Place("health.dentistry", 900, stated=False)) == []


@pytest.mark.req("GTW-044")
def test_another_writers_passage_agrees_or_is_denied() -> None:
    """By whether one denies what the other states."""
    alike = (Likeness("travel.rail", "doc_1.0", "The train is late.", 900),)
    aligned = Subject("alignment", "travel.rail")
    assert found("The train is late today.", likenesses=alike) == [Finding(aligned, 900, True, "agrees with doc_1.0")]
    assert found("The train is not late.", likenesses=alike) == [Finding(aligned, 900, False, "denies doc_1.0")]


@pytest.mark.req("GTW-044")
def test_weights_shrink_with_how_sure_the_writer_is() -> None:
    """A claim of one half weighs half, and one of nothing is no evidence."""
    assert [each.weight for each in found("We plan to.", confidence=500)] == [400]
    assert found("We plan to.", confidence=0) == []


@pytest.mark.req("GTW-044")
def test_an_adopted_proposal_is_an_aim_and_what_it_cites_supports_it() -> None:
    """Its domains' intents at its own confidence, and citations at half of that, bridges among them."""
    assert found("Night trains.", confidence=700, proposes=("energy",)) == [
        Finding(Subject("intent", "energy"), 700, True, "an adopted proposal")
    ]
    assert [(each.subject, each.weight) for each in from_citations(("travel", "energy"), 700, domains().apart)] == [
        (Subject("intent", "travel"), 350),
        (Subject("intent", "energy"), 350),
        (Subject("bridge", "energy", "travel"), 350),
    ]


@pytest.mark.req("GTW-044")
def test_a_subject_gets_its_weightiest_finding_once() -> None:
    """Length does not convince; of equals the first counts."""
    subject = Subject("risk", "energy")
    first, second, best = (Finding(subject, weight, True, rule) for weight, rule in ((3, "a"), (3, "b"), (9, "c")))
    assert strongest([first, second]) == [first]
    assert strongest([first, best, second]) == [best]
    assert strongest([Finding(subject, 0, True, "none")]) == []


@pytest.mark.req("GTW-044")
def test_ids_follow_from_the_subject_alone() -> None:
    """The same hypothesis has the same id wherever it is thought of, and another one has another."""
    subjects = [Subject("intent", "a"), Subject("risk", "a"), Subject("bridge", "a", "b"), Subject("bridge", "a", "c")]
    assert len({hypothesis_id(each) for each in subjects}) == len(subjects)
    assert hypothesis_id(Subject("intent", "a")) == hypothesis_id(Subject("intent", "a", None))


@pytest.mark.req("GTW-044")
@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_confidence_is_the_mean_of_the_distribution(supporting: int, opposing: int) -> None:
    """Half without evidence, more with support, less with opposition, never certain."""
    sure = confidence(supporting, opposing)
    assert sure == (1000 + supporting) / (2000 + supporting + opposing)
    assert 0 < confidence(supporting, opposing + 1) < sure < confidence(supporting + 1, opposing) < 1
    assert confidence(0, 0) == 0.5
