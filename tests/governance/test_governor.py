"""What every door calls: disclosures run at once, executions are prepared, agents see their own proposals alone."""

from __future__ import annotations

from typing import Any

import pytest

from sayso.core.refusal import Misuse, PeerUnreachable, Refusal, Refused
from sayso.governance.acts import Registry
from sayso.governance.governor import Governor, asking_agent
from sayso.governance.kernel import ActCall
from sayso.governance.machine import ProposalState
from sayso.proof.hashes import sha256_b64u
from tests.governance.house import ADA, BEA, PERSON, SCOPES, House, ask

pytestmark = pytest.mark.anyio


def call(name: str = "look", **more: Any) -> ActCall:
    values = {"arguments": {"what": "tea"}, "actor": ADA, "door": "mcp", "scopes": SCOPES, **more}
    return ActCall(call_id="c1", name=name, **values)


async def code(house: House, name: str = "look", **more: Any) -> tuple[str, str | None]:
    with pytest.raises(Refused) as refused:
        await house.governor.disclose(call(name, **more))
    return refused.value.refusal.code, refused.value.refusal.details.get("article")


@pytest.mark.req("GTW-030", "GTW-050")
async def test_a_disclosure_runs_at_once_and_hands_its_receipt_back(house: House) -> None:
    """Nothing is stored here: the crossing's unit keeps it."""
    disclosed = await house.governor.disclose(call())
    assert (disclosed.result, disclosed.is_error) == ({"saw": "tea"}, False)
    assert (disclosed.draft.kind, disclosed.draft.actor, disclosed.draft.article) == ("act.done", ADA, "I")
    assert disclosed.draft.inputs_sha256 == sha256_b64u(b'{"what":"tea"}')
    assert disclosed.draft.output_sha256 == sha256_b64u(b'{"saw":"tea"}')
    assert (await house.ledger.standing()).records == 0


@pytest.mark.req("GTW-030", "GTW-031")
async def test_what_is_no_disclosure_does_not_run(house: House) -> None:
    """Unclassified, an execution, misshapen, or against an article: each its own refusal, and nothing ran."""
    assert await code(house, "nowhere") == ("unclassified_act", None)
    assert await code(house, "note") == ("not_a_disclosure", None)
    assert await code(house, arguments={"what": 1}) == ("schema_invalid", None)
    assert await code(house, arguments={"what": "tea", "more": 1}) == ("schema_invalid", None)
    assert await code(house, scopes=frozenset(("mcp",))) == ("refused_by_constitution", "I")
    assert await code(house, door="a2a", scopes=frozenset(("mcp", "disclose"))) == ("refused_by_constitution", "III")
    assert await code(house, door="", scopes=frozenset()) == ("refused_by_constitution", "III")
    assert house.ran == []


async def test_what_an_operation_refuses_is_an_answer_with_a_receipt(house: House) -> None:
    """The caller sees the code, the receipt carries it."""

    async def fails(_wanted: object, _consent: object) -> Any:
        raise PeerUnreachable("a shop", "no answer")

    house.body = fails
    disclosed = await house.governor.disclose(call())
    assert disclosed.is_error
    assert disclosed.result["refused"]["code"] == "peer_unreachable"
    assert (disclosed.draft.kind, disclosed.draft.body["code"]) == ("act.failed", "peer_unreachable")


@pytest.mark.req("GTW-034")
async def test_an_agent_learns_how_its_own_proposal_stands(house: House) -> None:
    """By the act that every door offers, at each step."""
    found = await house.propose()
    status = call("proposal_status", arguments={"proposal_id": found.id})
    told = (await house.governor.disclose(status)).result
    assert (told["state"], told["moves"], "decision" in told) == ("pending", 1, False)
    await house.gate.approve(found.id, PERSON, reason="go on")
    await house.executor().run_once()
    told = (await house.governor.disclose(status)).result
    assert (told["state"], told["result"]) == ("executed", {"did": "tea"})
    assert (told["decision"]["approved"], told["decision"]["by"], told["decision"]["reason"]) == (
        True,
        "Robin",
        "go on",
    )


@pytest.mark.req("GTW-032", "GTW-034")
async def test_another_agents_proposal_looks_like_none(house: House) -> None:
    """The same answer to the byte, whether it is not theirs or not there."""
    found = await house.propose(agent=BEA)
    foreign = await house.governor.disclose(call("proposal_status", arguments={"proposal_id": found.id}))
    missing = await house.governor.disclose(call("proposal_status", arguments={"proposal_id": "prop_none"}))
    assert foreign.is_error
    assert foreign.result["refused"]["code"] == "unknown_proposal"
    assert foreign.result == missing.result


@pytest.mark.req("GTW-030", "GTW-031")
async def test_an_execution_is_prepared_and_nothing_is_stored(house: House) -> None:
    """Its id and state are known at once, and nothing of it is in the store until it is filed."""
    prepared = house.governor.prepare(ask())
    assert (prepared.state, prepared.refusal, prepared.proposal.article) == (ProposalState.PENDING, None, "II")
    with pytest.raises(Refused) as refused:
        await house.gate.find(prepared.id)
    assert refused.value.refusal.code == "unknown_proposal"
    await house.gate.file(prepared)
    assert (await house.gate.find(prepared.id)).state is ProposalState.PENDING


@pytest.mark.parametrize(
    ("of", "code"),
    [
        (ask("nowhere"), "unclassified_act"),
        (ask("look"), "not_an_execution"),
        (ask(what="x" * 10), None),
    ],
)
async def test_what_cannot_be_proposed_is_refused(house: House, of: Any, code: str | None) -> None:
    """An act without a class, or one that is simply called."""
    if code is None:
        assert house.governor.prepare(of).refusal is None
        return
    with pytest.raises(Refused) as refused:
        house.governor.prepare(of)
    assert refused.value.refusal.code == code


def test_a_governor_and_its_gate_share_acts_and_constitution(house: House) -> None:
    """Two registries behind one name would be a second way to reach state."""
    with pytest.raises(Misuse):
        Governor(Registry(), house.gate, house.constitution)
    assert house.registry.find("proposal_status")[0].title == "Look at a proposal"


def test_nobody_asks_outside_a_disclosure() -> None:
    """An operation that shows an agent its own is never run for nobody."""
    with pytest.raises(Misuse):
        asking_agent()


def test_a_refusal_says_what_would_help(house: House) -> None:
    """The agent's next step, where there is one."""
    prepared = house.governor.prepare(ask("costly"))
    assert prepared.state is ProposalState.REFUSED_BY_CONSTITUTION
    assert prepared.refusal == Refusal(
        code="refused_by_constitution",
        message="Article VII of the constitution refuses doing costly",
        reason="budget",
        help="The house's operator sets the ceilings.",
        details={"article": "VII"},
    )
