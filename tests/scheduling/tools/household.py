"""One person with a key app, an assistant and a log, against a shop on a real socket: what the tools are tried with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sayso.core.clock import Clock
from sayso.core.ids import Ids, SystemIds
from sayso.core.refusal import Refused
from sayso.governance.acts import Registry
from sayso.governance.consent import Answer, Question
from sayso.governance.kernel import ActCall, Asks, Done, Kernel
from sayso.ledger.ledger import Ledger
from sayso.ledger.reading import read_records
from sayso.net.fetch import Fetcher
from sayso.proof.keys import PrivateKey, PublicKey
from sayso.scheduling.guest.party import Guest
from sayso.scheduling.guest.receipting import ledger_recorder
from sayso.scheduling.keyapp.app import KeyApp, Shown
from sayso.scheduling.terms.identity import principal_urn
from sayso.scheduling.terms.mandate import ConsentMode
from sayso.scheduling.tools.acts import register
from sayso.scheduling.tools.assistant import Assistant
from sayso.scheduling.tools.consent import SchedulingConsent
from sayso.scheduling.tools.operations import Operations
from sayso.store.unit import Store
from sayso.testing.store import fresh_store

LOG = "sam"
DOMAIN = "maplestreetauto.example"
HOST = "maple-street-auto@maplestreetauto.example"
SAM = PrivateKey.from_seed(b"s" * 32)
AGENT = PrivateKey.from_seed(b"a" * 32)
HOLD = {
    "host": HOST,
    "service_id": "oil-change",
    "start": "2026-10-15T13:00",
    "earliest_start": "2026-10-15T11:00",
    "latest_start": "2026-10-15T15:00",
    "max_price": {"amount": "100"},
    "asked_start": "2026-10-15T13:00",
}

Says = Callable[[Question, Shown], bool]


@dataclass
class OpenKeys:
    """The part of a vault that the key app needs, with a lock that a test turns."""

    key: PrivateKey
    locked: bool = False

    def public(self, name: str) -> PublicKey:
        return self.key.public

    def signer(self, name: str) -> PrivateKey:
        if self.locked:
            raise Refused.because("locked", "the vault is locked")
        return self.key


def always(_question: Question, _shown: Shown) -> bool:
    """A person who says yes to what their key app shows."""
    return True


@dataclass
class Household:
    """`call` plays a whole tool call: each question goes to the key app, which shows, asks `says` and signs."""

    store: Store
    clock: Clock
    fetcher: Fetcher
    keys: OpenKeys
    guest: Guest
    operations: Operations
    kernel: Kernel
    keyapp: KeyApp
    ledger: Ledger
    questions: list[tuple[Question, Shown]] = field(default_factory=list)
    _calls: int = 0

    async def start(self, name: str, arguments: dict[str, Any], answers: list[Answer] | None = None) -> Done | Asks:
        """One call of the kernel, no more."""
        self._calls += 1
        call = ActCall(call_id=f"c{self._calls}", name=name, arguments=arguments, actor="assistant")
        return await self.kernel.call(call, answers or [])

    async def call(
        self, name: str, arguments: dict[str, Any], says: Says = always, mode: ConsentMode = "human_present"
    ) -> Done:
        """The whole call, question by question."""
        answers: list[Answer] = []
        while isinstance(step := await self.start(name, arguments, answers), Asks):
            answers.append(await self.answer(step.question, says, mode))
            assert len(answers) < 10, "a person who is asked without end"
        return step

    async def answer(self, question: Question, says: Says = always, mode: ConsentMode = "human_present") -> Answer:
        """What the person's surface does: regenerate, ask, unlock, sign."""
        shown = await self.keyapp.present(question.kind, question.document)
        self.questions.append((question, shown))
        if not says(question, shown):
            return Answer(granted=False, reason="no")
        return Answer(granted=True, document=await self.keyapp.issue(shown, mode))

    async def held(self, **changed: Any) -> dict[str, Any]:
        done = await self.call("hold_slot", {**HOLD, **changed})
        assert not done.is_error, done.result
        return dict(done.result)

    async def booked(self) -> dict[str, Any]:
        hold = await self.held()
        done = await self.call("approve_and_book", {"hold_id": hold["hold_id"]})
        assert not done.is_error, done.result
        return dict(done.result)

    async def kinds(self) -> list[str]:
        records = await self.store.reading(lambda view: read_records(view, LOG, 0, 1_000_000))
        return [record.kind for record in records]


def household(
    store: Store,
    clock: Clock,
    fetcher: Fetcher,
    *,
    ids: Ids | None = None,
    person: PrivateKey = SAM,
    agent: PrivateKey = AGENT,
    **settings: Any,
) -> Household:
    """The parts put together, as the house does; made twice on one store it is the same household after a restart."""
    ids = ids or SystemIds()
    keys = OpenKeys(person)
    ledger = Ledger(store, LOG, clock)
    guest = Guest(store, fetcher, agent, clock, ids, ledger_recorder(ledger, "assistant"))
    assistant = Assistant(guest=guest, principal=principal_urn(person.public), **settings)
    operations = Operations(assistant)
    registry = Registry()
    register(registry, operations)
    return Household(
        store=store,
        clock=clock,
        fetcher=fetcher,
        keys=keys,
        guest=guest,
        operations=operations,
        kernel=Kernel(registry, [SchedulingConsent(assistant)], ledger),
        keyapp=KeyApp(keys, fetcher, clock, ids, name="principal", agent=agent.public.thumbprint),
        ledger=ledger,
    )


@asynccontextmanager
async def open_household(
    folder: Path, clock: Clock, fetcher: Fetcher, *, domain: str = DOMAIN, **settings: Any
) -> AsyncIterator[Household]:
    """A household on a fresh database, with the shop added."""
    folder.mkdir(exist_ok=True)
    with fresh_store(folder, clock, name="guest.db") as store:
        home = household(store, clock, fetcher, **settings)
        await home.guest.add_host(domain)
        yield home
