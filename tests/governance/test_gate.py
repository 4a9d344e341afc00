"""The queue of people: who may decide, once, with a reason, in time, and with what has to be signed."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import anyio
import msgspec
import pytest

from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.core.refusal import Refused
from sayso.governance import queue
from sayso.governance.consent import Answer, Evidence
from sayso.governance.constitution import Ceilings, Constitution
from sayso.governance.evidence import bind
from sayso.governance.machine import ProposalState as State
from sayso.governance.machine import Reject
from sayso.governance.proposal import Decider, Proposal
from sayso.proof.hashes import sha256_b64u
from sayso.testing.store import START
from tests.governance.house import (
    ADA,
    BEA,
    LIMITS,
    OTHER,
    PERSON,
    SCOPES,
    SIGNED,
    VIEWER,
    House,
    ask,
)

pytestmark = pytest.mark.anyio


async def refusal_of(work: Any) -> tuple[str, str | None]:
    with pytest.raises(Refused) as refused:
        await work
    return refused.value.refusal.code, refused.value.refusal.details.get("article")


# -- filing


@pytest.mark.req("GTW-030", "GTW-050", "GTW-051")
async def test_a_proposal_is_filed_with_a_receipt_for_each_transition(house: House) -> None:
    """Chained one by one; each names the one before it and the hash of exactly what was asked."""
    found = await house.propose(context="talk_1", note=b"\x00door")
    first, second = await house.ledger.records()
    assert (first.kind, first.actor, first.article) == ("proposal.proposed", ADA, "II")
    assert first.inputs_sha256 == sha256_b64u(b'{"what":"tea"}') == found.arguments_sha256
    assert dict(first.body) == {
        "proposal": found.id, "act": "note", "to": "proposed", "move": 0, "constitution": "2.0", "door": "mcp",
        "person": "urn:person",
    }  # fmt: skip
    assert dict(second.body) == {
        "proposal": found.id, "act": "note", "from": "proposed", "to": "pending", "move": 1, "previous": first.seq
    }  # fmt: skip
    assert await house.gate.find(found.id) == found
    assert (found.context, found.note, found.expires_at) == ("talk_1", b"\x00door", START + timedelta(hours=24))


@pytest.mark.req("GTW-031", "GTW-032")
@pytest.mark.parametrize(
    ("of", "article"),
    [
        (ask("costly"), "VII"),
        (ask("slow"), "VII"),
        (ask("unsaid"), "II"),
        (ask(door="a2a", scopes=frozenset(("mcp", "propose"))), "III"),
        (ask(scopes=frozenset(("mcp", "disclose"))), "II"),
    ],
)
async def test_what_an_article_refuses_is_kept_and_never_asked(house: House, of: Any, article: str) -> None:
    """The agent gets an id and a reason; no person is bothered, and nobody can decide it."""
    prepared = house.governor.prepare(of)
    await house.gate.file(prepared)
    found = await house.gate.find(prepared.id)
    assert (found.state, found.article) == (State.REFUSED_BY_CONSTITUTION, article)
    assert found.refusal == prepared.refusal
    assert await house.kinds() == ["proposed", "refused_by_constitution"]
    assert (await house.ledger.records())[1].article == article
    assert await house.gate.list(states={State.PENDING}) == []
    assert (await refusal_of(house.gate.approve(found.id, PERSON, reason="please")))[0] == "already_decided"


async def test_a_filing_that_is_rolled_back_leaves_nothing(house: House) -> None:
    """The row and its receipts are of the caller's unit, all or none."""
    prepared = house.governor.prepare(ask())

    def body(unit: Any) -> None:
        house.gate.file_in(unit, prepared)
        raise Refused.because("no", "the crossing was refused after all")

    assert (await refusal_of(house.store.unit(body)))[0] == "no"
    assert await house.gate.list() == []
    assert (await house.ledger.standing()).records == 0


# -- deciding


@pytest.mark.req("GTW-032", "GTW-050", "GTW-051")
@pytest.mark.parametrize("approved", [True, False])
async def test_a_decision_is_a_persons_with_a_reason_kept_as_a_hash(house: House, approved: bool) -> None:
    """The words stay in the row; the receipt names the person, the role, and what exactly was decided."""
    found = await house.propose()
    decide = house.gate.approve if approved else house.gate.reject
    after = await decide(found.id, PERSON, reason="  because of tea ")
    assert after.state is (State.APPROVED if approved else State.REJECTED)
    decision = after.decision
    assert decision is not None
    assert (decision.by, decision.name, decision.role, decision.approved, decision.reason, decision.at) == (
        "person_1", "Robin", "owner", approved, "because of tea", START
    )  # fmt: skip
    receipt = (await house.ledger.records())[-1]
    assert (receipt.kind, receipt.actor) == (f"proposal.{after.state.value}", "person_1")
    assert receipt.body["reason_sha256"] == sha256_b64u(b"because of tea")
    assert receipt.body["subject_sha256"] == bind(found, house.constitution.tag) == decision.subject_sha256
    assert (receipt.body["role"], receipt.body["mode"], receipt.body["previous"]) == ("owner", "human_present", 1)
    assert b"because" not in receipt.data


@pytest.mark.req("GTW-032")
@pytest.mark.parametrize(
    "changed",
    [{"id": "prop_2"}, {"agent": BEA}, {"act": "keep"}, {"arguments_sha256": sha256_b64u(b"{}")}],
    ids=lambda changed: next(iter(changed)),
)
async def test_an_approval_is_bound_to_exactly_what_was_asked(house: House, changed: dict[str, Any]) -> None:
    """Another proposal, agent, act, argument or constitution is another subject."""
    found = await house.propose()
    subject = bind(found, house.constitution.tag)
    assert bind(msgspec.structs.replace(found, **changed), house.constitution.tag) != subject
    assert bind(found, "2.0 other words") != subject


@pytest.mark.req("GTW-032")
@pytest.mark.parametrize("first", ["approve", "reject", "withdraw"])
@pytest.mark.parametrize("second", ["approve", "reject", "withdraw"])
async def test_a_proposal_is_decided_once(house: House, first: str, second: str) -> None:
    """Whoever comes second is told so, and changes nothing; only what is approved can still be withdrawn."""
    found = await house.propose()
    await act_on(house, found, first, PERSON)
    before = await house.gate.find(found.id)
    if (first, second) == ("approve", "withdraw"):
        await act_on(house, found, second, OTHER)
        assert (await house.gate.find(found.id)).state is State.WITHDRAWN
        assert await house.executor().run_once() == 0
        return
    assert (await refusal_of(act_on(house, found, second, OTHER)))[0] == "already_decided"
    assert await house.gate.find(found.id) == before


async def act_on(house: House, found: Proposal, word: str, by: Decider) -> None:
    if word == "withdraw":
        await house.gate.withdraw(found.id, ADA)
    elif word == "approve":
        await house.gate.approve(found.id, by, reason="yes")
    else:
        await house.gate.reject(found.id, by, reason="no")


@pytest.mark.req("GTW-032")
async def test_of_two_people_at_once_one_decides(house: House) -> None:
    """The other is refused; the row, the receipts and the queue of acts agree on who it was."""
    proposals = [await house.propose(what=f"w{number}") for number in range(6)]
    for found in proposals:
        answers = await asyncio.gather(
            house.gate.approve(found.id, PERSON, reason="yes"),
            house.gate.reject(found.id, OTHER, reason="no"),
            return_exceptions=True,
        )
        refused = [each for each in answers if isinstance(each, Refused)]
        (winner,) = [each for each in answers if isinstance(each, Proposal)]
        assert [each.refusal.code for each in refused] == ["already_decided"]
        assert await house.gate.find(found.id) == winner
    kinds = await house.kinds()
    decided = kinds.count("approved") + kinds.count("rejected")
    assert decided == 6
    assert await house.executor().run_once() == kinds.count("approved")


@pytest.mark.req("GTW-032")
@pytest.mark.parametrize("word", ["approve", "reject"])
@pytest.mark.parametrize(
    "by",
    [
        VIEWER,
        Decider(id=ADA, name="Ada", role="owner"),
        Decider(id=BEA, name="Bea", role="approver"),
    ],
    ids=["viewer", "the proposing agent", "another agent"],
)
async def test_neither_agents_nor_viewers_decide(house: House, word: str, by: Decider) -> None:
    """Article VI, whatever role they claim; the proposal stays where it was."""
    found = await house.propose()
    assert await refusal_of(act_on(house, found, word, by)) == ("refused_by_constitution", "VI")
    assert (await house.gate.find(found.id)).state is State.PENDING


@pytest.mark.req("GTW-032")
async def test_nobody_decides_under_the_name_that_proposed(house: House) -> None:
    """Even where the agent is gone from the list of agents by then."""
    found = await house.propose()
    house.gate.standing = lambda _view, _agent: None
    work = house.gate.approve(found.id, Decider(id=ADA, name="Ada", role="owner"), reason="yes")
    assert await refusal_of(work) == ("refused_by_constitution", "VI")


@pytest.mark.req("GTW-032", "GTW-053")
async def test_a_move_over_a_state_that_has_moved_saves_nothing(house: House) -> None:
    """A writer that read before somebody else decided is refused, with its receipt undone."""
    found = await house.propose()
    stale = await house.store.unit(lambda unit: queue.read_row(unit, house.gate.owner, found.id))
    after = await house.gate.approve(found.id, PERSON, reason="yes")
    receipts = await house.kinds()
    work = house.store.unit(lambda unit: house.gate.book.move(unit, stale, Reject(), actor="person_2"))
    assert (await refusal_of(work))[0] == "proposal_moved"
    assert await house.gate.find(found.id) == after
    assert await house.kinds() == receipts


@pytest.mark.req("GTW-032")
@pytest.mark.parametrize("reason", ["", "   ", "x" * 2001])
async def test_a_decision_without_a_reason_is_none(house: House, reason: str) -> None:
    """Nobody can be asked later why."""
    found = await house.propose()
    for decide in (house.gate.approve, house.gate.reject):
        assert (await refusal_of(decide(found.id, PERSON, reason=reason)))[0] == "reason_required"


# -- what has to be signed


@pytest.mark.req("GTW-032")
async def test_a_bare_yes_does_not_cover_an_act_on_another_party(house: House) -> None:
    """The question is asked, and without its answer there is no approval; nothing is left of the attempt."""
    found = await house.propose("book")
    assert await house.gate.question(found.id) == LIMITS
    assert (await refusal_of(house.gate.approve(found.id, PERSON, reason="yes")))[0] == "signature_required"
    bare = Answer(granted=True)
    assert (await refusal_of(house.gate.approve(found.id, PERSON, reason="yes", answers=[bare])))[0] == "bad_signature"
    assert (await house.gate.find(found.id)).state is State.PENDING


@pytest.mark.req("GTW-032")
async def test_an_act_on_another_party_that_no_source_knows_is_never_approved(house: House) -> None:
    """Evidence 3 leads to 1 or 2 and never replaces it."""
    found = await house.propose("book")
    house.sources.clear()
    assert await house.gate.question(found.id) is None
    assert (await refusal_of(house.gate.approve(found.id, PERSON, reason="yes")))[0] == "consent_required"
    assert (await house.gate.find(found.id)).state is State.PENDING


@pytest.mark.req("GTW-032")
async def test_what_was_signed_is_kept_with_the_approval(house: House) -> None:
    """In the row as it is, in the receipt as its hash."""
    found = await house.propose("book")
    after = await house.gate.approve(found.id, PERSON, reason="yes", answers=[SIGNED])
    assert (await house.gate.find(found.id)).answers == (SIGNED,)
    receipt = (await house.ledger.records())[-1]
    assert receipt.links[0].sha256 == sha256_b64u("signed limits")
    assert receipt.body["evidence"] == Evidence.SIGNED_LIMITS
    assert after.state is State.APPROVED


async def test_a_signature_that_nobody_asked_for_is_refused(house: House) -> None:
    """It would be kept as evidence of something that no source looked at."""
    found = await house.propose()
    assert await house.gate.question(found.id) is None
    answers = [Answer(granted=True, document="something")]
    assert (await refusal_of(house.gate.approve(found.id, PERSON, reason="yes", answers=answers)))[0] == "nothing_asked"


@pytest.mark.req("GTW-032")
async def test_what_the_constitution_no_longer_allows_is_not_approved(house: House) -> None:
    """Judged again with the decision, under the words in force then."""
    found = await house.propose()
    stricter = house.open_gate(Constitution.load(Ceilings(seconds=1)), CountingIds())
    assert await refusal_of(stricter.approve(found.id, PERSON, reason="yes")) == ("refused_by_constitution", "VII")
    assert (await stricter.reject(found.id, PERSON, reason="no")).state is State.REJECTED


async def test_an_act_that_is_registered_no_more_can_still_be_rejected(house: House) -> None:
    """The queue can always be emptied."""
    found = await house.propose()
    house.registry._acts.pop("note")
    assert (await refusal_of(house.gate.approve(found.id, PERSON, reason="yes")))[0] == "unclassified_act"
    assert (await house.gate.reject(found.id, PERSON, reason="no")).state is State.REJECTED


# -- time


@pytest.mark.req("GTW-032")
async def test_silence_is_a_no(house: House, clock: ManualClock) -> None:
    """At the deadline itself, before anybody has swept; the sweep writes it down with its receipt."""
    found = await house.propose()
    later = await house.propose(what="later")
    clock.advance(timedelta(hours=24))
    assert (await refusal_of(house.gate.approve(found.id, PERSON, reason="late")))[0] == "proposal_expired"
    assert {each.state for each in await house.gate.list()} == {State.EXPIRED}
    receipt = (await house.ledger.records())[-1]
    assert (receipt.kind, receipt.actor, receipt.article) == ("proposal.expired", "house.example", "IX")
    assert (await house.gate.find(later.id)).state is State.EXPIRED
    assert await house.gate.expire_due() == 0


@pytest.mark.req("GTW-032")
async def test_a_decision_one_instant_late_is_refused_in_its_unit(house: House, clock: ManualClock) -> None:
    """Even where the clock passes the deadline between reading and deciding."""
    found = await house.propose("book")

    class Slow:
        async def consent(self, *_: Any) -> None:
            clock.advance(timedelta(hours=25))

    house.sources.append(Slow())
    code, _ = await refusal_of(house.gate.approve(found.id, PERSON, reason="yes", answers=[SIGNED]))
    assert code == "proposal_expired"


@pytest.mark.req("GTW-032")
async def test_a_yes_that_nobody_used_runs_out(house: House, clock: ManualClock) -> None:
    """Used once, and not next week."""
    found = await house.approved()
    clock.advance(timedelta(hours=24))
    assert await house.executor().run_once() == 0
    assert (await house.gate.find(found.id)).state is State.EXPIRED
    assert house.effects.all() == []


# -- lists and waiting


@pytest.mark.req("GTW-032", "GTW-034")
async def test_lists_are_newest_first_and_pages_do_not_overlap(house: House, clock: ManualClock) -> None:
    """Ties in time by id, so that any two pages agree; filters by state, agent and context."""
    ids = []
    for number in range(7):
        if number % 3 == 0:
            clock.advance(timedelta(seconds=1))
        ids.append(
            (await house.propose(what=str(number), agent=BEA if number == 3 else ADA, context=f"c{number % 2}")).id
        )
    everything = [each.id for each in await house.gate.list()]
    assert everything == sorted(ids, reverse=True)
    pages: list[list[str]] = []
    for _ in range(4):
        page = await house.gate.list(after=pages[-1][-1] if pages else None, limit=3)
        pages.append([each.id for each in page])
    assert pages == [everything[:3], everything[3:6], everything[6:], []]
    await house.gate.reject(ids[0], PERSON, reason="no")
    assert [each.id for each in await house.gate.list(states={State.REJECTED})] == [ids[0]]
    assert [each.id for each in await house.gate.list(agent=BEA)] == [ids[3]]
    assert [each.id for each in await house.gate.list(context="c1", agent=ADA)] == [ids[5], ids[1]]
    assert await house.gate.list(states=set()) == []


@pytest.mark.req("GTW-032")
async def test_a_cursor_of_another_agent_is_unknown(house: House) -> None:
    """A page must not tell whether somebody else's proposal is there."""
    found = await house.propose(agent=BEA)
    assert (await refusal_of(house.gate.list(agent=ADA, after=found.id)))[0] == "unknown_proposal"
    assert (await refusal_of(house.gate.list(after="prop_none")))[0] == "unknown_proposal"


@pytest.mark.req("GTW-032", "GTW-034")
@pytest.mark.parametrize("word", ["find", "withdraw"])
async def test_another_agents_proposal_is_unknown_to_every_operation(house: House, word: str) -> None:
    """In the same words as one that does not exist."""
    found = await house.propose(agent=BEA)
    said = []
    for proposal_id in (found.id, "prop_none"):
        work = house.gate.find(proposal_id, agent=ADA) if word == "find" else house.gate.withdraw(proposal_id, ADA)
        with pytest.raises(Refused) as refused:
            await work
        said.append(refused.value.refusal)
    assert said[0] == said[1]
    assert said[0].code == "unknown_proposal"


@pytest.mark.req("GTW-034")
async def test_a_waiter_returns_once_it_has_moved(house: House) -> None:
    """At once where it has already; otherwise woken by the decision."""
    found = await house.propose()
    assert (await house.gate.wait(found.id, 0)).moves == 1
    seen: list[Proposal] = []

    async def wait() -> None:
        seen.append(await house.gate.wait(found.id, found.moves))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.lowlevel.checkpoint()
        await house.gate.reject(found.id, PERSON, reason="no")
    assert [each.state for each in seen] == [State.REJECTED]


async def test_a_withdrawal_in_a_callers_unit_changes_nothing_where_it_is_refused(house: House) -> None:
    """A door that goes on with its unit after the refusal has not half withdrawn it."""
    found = await house.approved()
    rejected = await house.propose(what="other")
    await house.gate.reject(rejected.id, PERSON, reason="no")

    def body(unit: Any) -> str:
        try:
            house.gate.withdraw_in(unit, rejected.id, ADA)
        except Refused as refused:
            return refused.refusal.code
        return "withdrawn"

    assert await house.store.unit(body) == "already_decided"
    assert (await house.gate.find(rejected.id)).state is State.REJECTED
    assert (await house.gate.find(found.id)).state is State.APPROVED


def test_scopes_survive_the_row(house: House) -> None:
    """They are judged again at execution, as they were when the agent asked."""
    assert house.governor.prepare(ask()).proposal.scopes == SCOPES


@pytest.mark.req("GTW-021a", "GTW-034")
@pytest.mark.parametrize("name", ["", "a\x00b", "prop_\x00", "a" * 65, "prop/1", "é", "\ud800"])
async def test_what_has_no_shape_of_an_id_names_nothing(house: House, name: str) -> None:
    """On either engine: one of them would not even take a NUL as text."""
    assert (await refusal_of(house.gate.find(name)))[0] == "unknown_proposal"
    assert (await refusal_of(house.gate.list(after=name)))[0] == "unknown_proposal"
