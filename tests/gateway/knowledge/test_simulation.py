"""A simulation computes, says from what, and can be done again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.core.clock import ManualClock
from sayso.core.refusal import Refused
from sayso.gateway.knowledge import simulation
from sayso.gateway.knowledge.knowledge import Knowledge
from sayso.gateway.knowledge.simulation import DRAWS, MOST_PIECES, Weight, seed_of, simulate
from sayso.ledger.ledger import Ledger
from sayso.proof.hashes import sha256_b64u
from sayso.store.statements import statement
from sayso.store.tables.knowledge import knowledge_simulations
from sayso.store.unit import Store
from tests.gateway.knowledge.shelf import LOG
from tests.gateway.knowledge.test_hypotheses import about, tell

FIVE = [Weight("doc_1.0", 0.9, True), Weight("doc_2.0", 0.7, True), Weight("doc_3.0", 0.5, False),
        Weight("doc_4.0", 0.25, True), Weight("doc_5.0", 0.125, False)]  # fmt: skip
weights = st.integers(1, 1000).map(lambda each: each / 1000)
evidence = st.lists(st.tuples(weights, st.booleans()), max_size=8).map(
    lambda pairs: [Weight(f"doc_{number}.0", weight, supports) for number, (weight, supports) in enumerate(pairs)]
)


@pytest.mark.req("GTW-044")
def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    """In whatever order the evidence is handed over."""
    first = simulate(FIVE, seed_of("call_1"))
    assert simulate(FIVE[::-1], seed_of("call_1")) == first
    other = simulate(FIVE, seed_of("call_2"))
    assert (other.seed, other.posterior.mean) != (first.seed, first.posterior.mean)
    assert (first.draws, other.posterior.exact) == (DRAWS, first.posterior.exact)


@pytest.mark.req("GTW-044")
@settings(max_examples=25, deadline=None)
@given(evidence, st.integers(0, 2**48 - 1))
def test_leaving_a_piece_out_gives_what_was_reported_for_it(pieces: list[Weight], seed: int) -> None:
    """Exactly, to the last digit: interval and mean of a simulation in which the piece had never been."""
    whole = simulate(pieces, seed)
    assert {each.observation for each in whole.contributions} == {each.observation for each in pieces}
    for each in whole.contributions:
        rest = [other for other in pieces if other.observation != each.observation]
        assert simulate(rest, seed).posterior == each.without
        assert each.moves == pytest.approx(whole.posterior.exact - each.without.exact, abs=1e-6)
        assert (each.moves > 0) is each.supports or each.moves == 0


@pytest.mark.req("GTW-044")
def test_the_posterior_is_that_of_the_resampled_evidence() -> None:
    """Without evidence it is flat; with much of it on one side, sure; resampling makes it wider than the formula."""
    flat = simulate([], 7).posterior
    assert (flat.exact, flat.mean) == (0.5, pytest.approx(0.5, abs=0.01))
    assert (flat.low, flat.high) == (pytest.approx(0.025, abs=0.01), pytest.approx(0.975, abs=0.01))
    much = simulate([Weight(f"doc_{number}.0", 1.0, True) for number in range(60)], 7).posterior
    assert (much.exact, much.mean) == (pytest.approx(61 / 62, abs=1e-6), pytest.approx(61 / 62, abs=0.005))
    assert much.low > 0.9
    one = simulate([Weight("doc_1.0", 1.0, True)], 7).posterior
    # The mean over Poisson(1) counts k of (1 + k) / (2 + k): 1 - sum(e^-1 / k! / (2 + k)) = 1 - 1/e.
    assert one.mean == pytest.approx(0.6321, abs=0.01)
    assert one.exact == pytest.approx(2 / 3, abs=1e-6)


@pytest.mark.req("GTW-044")
def test_all_evidence_is_resampled_and_the_weightiest_reported() -> None:
    """A long list is cut off in what is told, never in what is computed."""
    pieces = [Weight(f"doc_{number:03d}.0", (number + 1) / 1000, True) for number in range(MOST_PIECES + 20)]
    found = simulate(pieces, 1)
    assert [each.observation for each in found.contributions] == [each.observation for each in pieces[::-1]][
        :MOST_PIECES
    ]
    assert found.posterior.exact > simulate(pieces[20:], 1).posterior.exact


def test_without_numpy_it_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not by a traceback."""
    monkeypatch.setattr(simulation, "find_spec", lambda name: None)
    with pytest.raises(Refused) as caught:
        simulate(FIVE, 1)
    assert caught.value.refusal.code == "simulation_unavailable"


@pytest.mark.anyio
@pytest.mark.req("GTW-044")
async def test_a_call_has_one_answer_and_its_seed_is_receipted(
    knowledge: Knowledge, store: Store, clock: ManualClock
) -> None:
    """Asking again gives the first answer, whatever was observed since; another call sees what is there now."""
    await tell(knowledge, "The grid may fail at any hour.", "energy.grid")
    risk = await about(knowledge, "risk", "energy.grid")
    first = await knowledge.simulate(risk.id, call_id="call_1", by="agent_ada")
    (receipt,) = (await Ledger(store, LOG, clock).records())[-1:]
    kept = await store.reading(lambda view: view.all(statement(knowledge_simulations.select())))
    assert (receipt.kind, receipt.actor) == ("knowledge.simulated", "agent_ada")
    assert receipt.body == {"hypothesis": risk.id, "seed": seed_of("call_1"), "draws": DRAWS, "pieces": 1}
    assert receipt.output_sha256 == sha256_b64u(bytes(kept[0][3]))
    await tell(knowledge, "There is no risk to the grid.", "energy.grid", by="agent_bea")
    assert await knowledge.simulate(risk.id, call_id="call_1", by="agent_ada") == first
    later = await knowledge.simulate(risk.id, call_id="call_2", by="agent_ada")
    assert (first.pieces, later.pieces) == (1, 2)
    assert later.posterior.exact == (await knowledge.hypothesis(risk.id)).confidence


@pytest.mark.anyio
@pytest.mark.req("GTW-044")
async def test_the_answer_is_what_the_shown_evidence_gives(knowledge: Knowledge) -> None:
    """Whoever has the evidence and the seed computes the same."""
    await tell(knowledge, "The grid may fail at any hour.", "energy.grid")
    await tell(knowledge, "There is no risk to the grid.", "energy.grid", by="agent_bea")
    risk = await about(knowledge, "risk", "energy.grid")
    answer = await knowledge.simulate(risk.id, call_id="call_1", by="agent_ada")
    shown = [
        Weight(each.observation, each.weight, each.supports) for each in (await knowledge.hypothesis(risk.id)).evidence
    ]
    again = simulate(shown, answer.seed)
    assert (again.posterior, again.contributions) == (answer.posterior, answer.contributions)
