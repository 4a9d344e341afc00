"""One move of a proposal: decided by the machine, receipted, saved and announced in the caller's unit of work.

Nothing else changes a proposal's row. A unit that moves one holds its row first and the log's lock last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sayso.core.strictjson import JsonValue
from sayso.governance import queue
from sayso.governance.machine import Command, Queue, Refuse, step
from sayso.governance.machine import ProposalState as State
from sayso.governance.proposal import Prepared
from sayso.governance.queue import Kept
from sayso.governance.receipts import draft_move
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.record import Link
from sayso.store.unit import Unit

__all__ = ("GATE", "Book", "channel")

GATE: Final = "gate"
"""Woken by every move of every proposal."""


def channel(proposal_id: str) -> str:
    """Woken by every move of this proposal."""
    return f"proposal {proposal_id}"


class Book:
    """The proposals of one owner, and the log their receipts go to."""

    def __init__(self, ledger: Ledger, owner: str) -> None:
        self.owner = owner
        self._ledger = ledger

    def enter(self, unit: Unit, prepared: Prepared) -> Kept:
        """Writes a new proposal down, with a receipt of what was asked and one of what the constitution said."""
        found = prepared.proposal
        asked = msgspec.structs.replace(found, state=State.PROPOSED, moves=0, refusal=None)
        queued = found.state is State.PENDING
        after = step(asked.standing, Queue(until=found.expires_at) if queued else Refuse(), unit.now)
        found = msgspec.structs.replace(found, state=after.state, moves=after.moves)
        facts = {"constitution": found.constitution, "door": found.door, "person": found.owner}
        first = self._ledger.append_in(unit, draft_move(None, asked, actor=found.agent, previous=None, facts=facts))
        said: dict[str, JsonValue] = {} if found.refusal is None else {"reason": found.refusal.reason}
        record = self._ledger.append_in(
            unit, draft_move(State.PROPOSED, found, actor=self.owner, previous=first.seq, facts=said)
        )
        queue.insert_row(unit, self.owner, found, record.seq)
        self._announce(unit, found.id)
        return Kept(proposal=found, receipt=record.seq)

    def move(
        self,
        unit: Unit,
        kept: Kept,
        command: Command,
        *,
        actor: str,
        kind: str | None = None,
        changes: Mapping[str, Any] | None = None,
        article: str | None = None,
        facts: Mapping[str, JsonValue] | None = None,
        links: tuple[Link, ...] = (),
        output_sha256: str | None = None,
    ) -> Kept:
        """The proposal after the command. Refused: as `machine.step`, and `proposal_moved`."""
        before = kept.proposal
        after = step(before.standing, command, unit.now)
        # Invariant PG-05: a move and its receipt are of one unit.
        found = msgspec.structs.replace(
            before,
            **{
                "state": after.state,
                "moves": after.moves,
                "changed_at": unit.now,
                "expires_at": after.deadline or before.expires_at,
                **(changes or {}),
            },
        )
        draft = draft_move(
            before.state,
            found,
            actor=actor,
            previous=kept.receipt,
            kind=kind,
            article=article,
            facts=facts,
            links=links,
            output_sha256=output_sha256,
        )
        record = self._ledger.append_in(unit, draft)
        queue.save_row(unit, self.owner, found, record.seq, seen=before.moves)
        self._announce(unit, found.id)
        return Kept(proposal=found, receipt=record.seq)

    def _announce(self, unit: Unit, proposal_id: str) -> None:
        unit.wake(channel(proposal_id))
        unit.wake(GATE)
