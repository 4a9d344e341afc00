"""A house for tests: every kind of act, one consent source, and effects that other processes can see.

An effect is a line in a file, so that it is counted and not only seen. The acts:

    look                          discloses
    note, keep, ring              execute: idempotent, probe, at_most_once; touch nobody
    book                          executes, touches others: limits are signed with the approval;
                                  `{"what": "offer"}` asks for one more signature midway
    unsaid                        executes and does not say what a second run does
    costly, slow                  above the ceilings of Article VII
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import msgspec

from sayso.core.clock import Clock
from sayso.core.ids import CountingIds, Ids
from sayso.core.refusal import Refused
from sayso.governance.acts import Act, ActClass, Registry, Repeats
from sayso.governance.consent import Answer, Consent, Evidence, Question
from sayso.governance.constitution import Constitution
from sayso.governance.execution import Executor
from sayso.governance.gate import Gate
from sayso.governance.governor import Governor
from sayso.governance.proposal import Ask, Decider, Proposal
from sayso.governance.running import Watch
from sayso.ledger.ledger import Ledger
from sayso.proof.hashes import sha256_b64u
from sayso.store.unit import Reading, Store

OWNER = "house.example"
TURNS = 1_000_000
"""How often a test looks before it gives up."""
ADA, BEA = "agent_ada", "agent_bea"
SCOPES = frozenset(("mcp", "a2a", "acp", "tasks", "disclose", "propose"))
PERSON = Decider(id="person_1", name="Robin", role="owner")
OTHER = Decider(id="person_2", name="Sam", role="approver")
VIEWER = Decider(id="person_3", name="Kim", role="viewer")

LIMITS = Question(kind="limits", title="May I book?", text="I allow it.", document=b"limits", media_type="text/plain")
OFFER = Question(kind="offer", title="This very offer?", text="I take it.", document=b"offer", media_type="text/plain")
SIGNED = Answer(granted=True, document="signed limits")
SIGNED_OFFER = Answer(granted=True, document="signed offer")


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    what: str


class Effects:
    """Lines of a file: what happened to the world, each time it happened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def happen(self, key: str) -> None:
        with open(self.path, "a") as file:
            file.write(f"{key}\n")
            file.flush()
            os.fsync(file.fileno())

    def all(self) -> list[str]:
        return self.path.read_text().split() if self.path.exists() else []


class Signatures:
    """Knows `book` alone: limits come with the approval, an offer midway. A no is remembered as the person's."""

    async def consent(
        self, act_name: str, arguments: msgspec.Struct, answers: Sequence[Answer]
    ) -> Consent | Question | None:
        if act_name != "book":
            return None
        if not answers:
            return LIMITS
        for answer, document in zip(answers, ("signed limits", "signed offer"), strict=False):
            if not answer.granted:
                raise Refused.because("consent_refused", "the person said no")
            if answer.document != document:
                raise Refused.because("bad_signature", "this signs something else")
        last = answers[-1].document or ""
        evidence = Evidence.SIGNED_ACT if last == "signed offer" else Evidence.SIGNED_LIMITS
        digest = sha256_b64u(last)
        return Consent(
            by="urn:person", evidence=evidence, subject_sha256=digest, mode="human_present", document=last,
            document_sha256=digest,
        )  # fmt: skip


Body = Callable[[Wanted, Consent | None], Awaitable[Mapping[str, Any] | Question]]


class House:
    """Everything of one process, on a store."""

    def __init__(self, store: Store, clock: Clock, effects: Path, *, ids: Ids | None = None) -> None:
        self.store = store
        self.clock = clock
        self.effects = Effects(effects)
        self.ran: list[tuple[str, Consent | None]] = []
        self.body: Body | None = None
        """Run in place of every act's own body, where a test sets it."""
        self.suspended: set[str] = set()
        self.ledger = Ledger(store, OWNER, clock)
        self.registry = Registry()
        self.constitution = Constitution.load()
        self.sources: list[Any] = [Signatures()]
        self._register()
        self.gate = self.open_gate(self.constitution, ids or CountingIds())
        self.governor = Governor(self.registry, self.gate, self.constitution)

    def open_gate(self, constitution: Constitution, ids: Ids) -> Gate:
        return Gate(
            store=self.store, ledger=self.ledger, registry=self.registry, sources=self.sources,
            constitution=constitution, owner=OWNER, clock=self.clock, ids=ids, standing=self.standing,
        )  # fmt: skip

    def executor(self, worker: str = "w1", *, watch: Watch | None = None, **more: Any) -> Executor:
        return Executor(store=self.store, gate=self.gate, clock=self.clock, worker=worker, watch=watch, **more)

    def standing(self, view: Reading, agent: str) -> Any:
        if agent in self.suspended:
            return "suspended"
        return "active" if agent in (ADA, BEA) else None

    async def propose(self, act: str = "note", what: str = "tea", *, agent: str = ADA, **more: Any) -> Proposal:
        prepared = self.governor.prepare(ask(act, what, agent=agent, **more))
        return await self.gate.file(prepared)

    async def approved(self, act: str = "note", what: str = "tea") -> Proposal:
        found = await self.propose(act, what)
        answers = (SIGNED,) if act == "book" else ()
        return await self.gate.approve(found.id, PERSON, reason="fine", answers=answers)

    async def kinds(self) -> list[str]:
        return [record.kind.removeprefix("proposal.") for record in await self.ledger.records()]

    def _register(self) -> None:
        for name, repeats in (
            ("note", Repeats.IDEMPOTENT), ("keep", Repeats.PROBE), ("ring", Repeats.AT_MOST_ONCE), ("unsaid", None)
        ):  # fmt: skip
            self._add(name, repeats=repeats)
        self._add("look", act_class=ActClass.DISCLOSURE)
        self._add("book", repeats=Repeats.IDEMPOTENT, touches_others=True)
        self._add("costly", repeats=Repeats.IDEMPOTENT, budget_cents=100_001)
        self._add("slow", repeats=Repeats.IDEMPOTENT, seconds=901)

    def _add(self, name: str, **more: Any) -> None:
        more = {"act_class": ActClass.EXECUTION, "touches_others": False, **more}
        act = Act(name=name, title=f"Doing {name}", description="", arguments=Wanted, **more)
        self.registry.register(act, self._operation(name), self._probe if name == "keep" else None)

    def _operation(self, name: str) -> Body:
        async def run(wanted: Wanted, consent: Consent | None) -> Mapping[str, Any] | Question:
            self.ran.append((name, consent))
            if self.body is not None:
                return await self.body(wanted, consent)
            if name == "look":
                return {"saw": wanted.what}
            assert consent is not None
            if name == "book" and wanted.what == "offer" and consent.evidence is not Evidence.SIGNED_ACT:
                return msgspec.structs.replace(OFFER, expires=self.clock.now() + timedelta(minutes=10))
            self.do(name, str(consent.call_id))
            return {"did": wanted.what}

        return run

    def do(self, name: str, call_id: str) -> None:
        """The effect: at most once where the act recognises its key, every time where it does not."""
        if name not in ("note", "book") or call_id not in self.effects.all():
            self.effects.happen(call_id)

    async def _probe(self, wanted: Wanted, consent: Consent | None) -> Mapping[str, Any] | None:
        assert consent is not None
        return {"did": wanted.what} if consent.call_id in self.effects.all() else None


async def until(condition: Callable[[], object]) -> None:
    """Lets everything else run until it is so; what never becomes so is a failure and no hang."""
    for _ in range(TURNS):
        if condition():
            return
        await anyio.lowlevel.checkpoint()
    raise AssertionError("it never came to that")


def ask(act: str = "note", what: str = "tea", *, agent: str = ADA, **more: Any) -> Ask:
    values: dict[str, Any] = {"owner": "urn:person", "door": "mcp", "scopes": SCOPES, **more}
    return Ask(agent=agent, act=act, arguments={"what": what}, **values)
