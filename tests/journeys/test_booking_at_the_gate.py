"""A booking that an outside agent asks for: approved as limits in the queue, carried out by the executor, told back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from sayso.core.clock import ManualClock
from sayso.core.ids import SystemIds
from sayso.core.refusal import Refused
from sayso.governance.acts import Registry
from sayso.governance.constitution import Constitution
from sayso.governance.execution import LEASE, Executor
from sayso.governance.gate import Gate
from sayso.governance.machine import ProposalState as State
from sayso.governance.proposal import Ask, Decider, Proposal
from sayso.governance.running import Watch
from sayso.scheduling.terms.identity import principal_urn
from sayso.scheduling.tools.assistant import Assistant
from sayso.scheduling.tools.at_doors import register_at_doors
from sayso.testing.store import START
from tests.scheduling.host.town import Town, one_bay, open_town_on_file
from tests.scheduling.tools.household import HOLD, LOG, SAM, Household, open_household

pytestmark = pytest.mark.anyio

AGENT = "agent_1"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


ME = Decider(id="person_sam", name="Sam", role="owner")


class Killed(BaseException):
    """Stands for the end of the process."""


@dataclass
class Desk:
    """A household whose acts are offered to outside agents, and the shop it books at."""

    town: Town
    home: Household
    gate: Gate

    async def approved(self) -> Proposal:
        """The agent asks, and five hours later the person signs the limits."""
        ask = Ask(
            agent=AGENT,
            owner=LOG,
            door="mcp",
            act="book_slot",
            arguments=dict(HOLD),
            scopes=frozenset(("mcp", "propose")),
        )
        found = await self.gate.file(self.gate.prepare(ask))
        self.clock.advance(timedelta(hours=5))
        question = await self.gate.question(found.id)
        assert question is not None
        with pytest.raises(Refused, match="signature"):
            await self.gate.approve(found.id, ME, reason="a bare yes")
        answer = await self.home.answer(question)
        return await self.gate.approve(found.id, ME, reason="the car needs it", answers=[answer])

    @property
    def clock(self) -> ManualClock:
        assert isinstance(self.home.clock, ManualClock)
        return self.home.clock

    async def run(self, found: Proposal, worker: str = "w1", watch: Watch | None = None) -> Proposal:
        await Executor(store=self.home.store, gate=self.gate, clock=self.clock, worker=worker, watch=watch).run_once()
        return await self.gate.find(found.id)


@asynccontextmanager
async def opened(folder: Path, clock: ManualClock, closed_mandate: str) -> AsyncIterator[Desk]:
    async with (
        open_town_on_file(folder, clock, one_bay(closed_mandate=closed_mandate)) as town,
        open_household(folder / "guest", clock, town.fetcher) as home,
    ):
        registry = Registry()
        person = principal_urn(SAM.public)
        sources = register_at_doors(registry, lambda: Assistant(guest=home.guest, principal=person))
        gate = Gate(
            store=home.store, ledger=home.ledger, registry=registry, sources=sources, constitution=Constitution.load(),
            owner=LOG, clock=clock, ids=SystemIds(), standing=lambda _view, who: "active" if who == AGENT else None,
        )  # fmt: skip
        yield Desk(town, home, gate)


@pytest.mark.req("GTW-030", "GTW-032", "GTW-033")
async def test_approved_limits_book_once(tmp_path: Path, clock: ManualClock) -> None:
    """One signature, hours later, and nothing is held before it."""
    async with opened(tmp_path, clock, "never") as desk:
        after = await desk.run(await desk.approved())
        assert after.result is not None
        assert (after.state, after.result["status"]) == (State.EXECUTED, "confirmed")
        assert await desk.town.kinds() == ["hold.placed", "booking.confirmed"]


@pytest.mark.req("GTW-033")
async def test_a_house_that_dies_after_the_booking_books_once(tmp_path: Path, clock: ManualClock) -> None:
    """Killed between effect and outcome, the next process finds the booking and reports it."""

    def die(step: str, _proposal: str) -> None:
        if step == "ran":
            raise Killed

    async with opened(tmp_path, clock, "never") as desk:
        found = await desk.approved()
        with pytest.raises(BaseExceptionGroup):
            await desk.run(found, "victim", die)
        clock.advance(LEASE)
        assert (await desk.run(found, "next")).state is State.EXECUTED
        assert await desk.town.kinds() == ["hold.placed", "booking.confirmed"]


@pytest.mark.req("GTW-032")
@pytest.mark.parametrize(
    ("says", "state", "kinds"),
    [
        (True, State.EXECUTED, ["hold.placed", "booking.confirmed"]),
        (False, State.FAILED, ["hold.placed", "hold.released"]),
    ],
)
async def test_a_host_that_wants_its_offer_signed_is_a_second_question(
    tmp_path: Path, clock: ManualClock, says: bool, state: State, kinds: list[str]
) -> None:
    """With the hold's deadline; a no gives the time back."""
    async with opened(tmp_path, clock, "always") as desk:
        asked = await desk.run(await desk.approved())
        assert (asked.state, asked.expires_at - clock.now()) == (State.AWAITING_PERSON, timedelta(minutes=5))
        question = await desk.gate.question(asked.id)
        assert question is not None
        await desk.gate.answer(asked.id, ME, await desk.home.answer(question, says=lambda *_: says))
        assert (await desk.run(asked)).state is state
        assert await desk.town.kinds() == kinds


@pytest.mark.req("GTW-032")
async def test_a_second_question_that_nobody_answers_expires_with_the_hold(tmp_path: Path, clock: ManualClock) -> None:
    """Nothing was booked, and the proposal says so."""
    async with opened(tmp_path, clock, "always") as desk:
        asked = await desk.run(await desk.approved())
        clock.advance(timedelta(minutes=5))
        assert (await desk.gate.find(asked.id)).state is State.EXPIRED
        assert "booking.confirmed" not in await desk.town.kinds()
