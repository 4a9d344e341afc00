"""The rows of the Promotion Gate: proposals as they are stored, read back as they were, and listed newest first."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import datetime
from functools import cache
from typing import Any

import msgspec
from sqlalchemy import bindparam, select, tuple_, update

from sayso.core import strictjson
from sayso.core.canonical import canonical
from sayso.core.refusal import Corrupt, Refusal, Refused
from sayso.governance.consent import Answer, Question
from sayso.governance.machine import PROPOSAL_MOVED, WAITING, ProposalState
from sayso.governance.proposal import Decision, Proposal
from sayso.proof.hashes import sha256_b64u
from sayso.store.statements import Statement
from sayso.store.tables import from_micros, micros
from sayso.store.tables.governance import proposal
from sayso.store.unit import Reading, Row, Unit, insert, statement

__all__ = ("UNKNOWN_PROPOSAL", "Kept", "hash_arguments", "insert_row", "list_rows", "next_deadline", "overdue",
           "read_row", "save_row", "unknown")  # fmt: skip

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
UNKNOWN_PROPOSAL = "unknown_proposal"
_PAGE_OF_OVERDUE = 64


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of it, as it is stored."""

    result: dict[str, Any] | None = None
    refusal: Refusal | None = None


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A proposal with what only its row knows: the place of its last receipt."""

    proposal: Proposal
    receipt: int


_p = proposal.c
_COLUMNS = tuple(proposal.c)
_NAMES = tuple(column.name for column in _COLUMNS)
_CHANGED = ("state", "moves", "deadline_us", "expires_us", "changed_us", "receipt", "decision", "answers", "question",
            "outcome")  # fmt: skip
_INSERT = statement(insert(proposal))
_FIND = select(*_COLUMNS).where(_p.owner == bindparam("owner"), _p.id == bindparam("id"))
_READ = statement(_FIND)
_HOLD = statement(_FIND.with_for_update())
_SAVE = statement(
    update(proposal).where(
        _p.owner == bindparam("of_owner"), _p.id == bindparam("of_id"), _p.moves == bindparam("seen")
    ),
    *_CHANGED,
)
_OVERDUE = statement(
    select(_p.id)
    .where(_p.owner == bindparam("owner"), _p.deadline_us <= bindparam("now"))
    .order_by(_p.deadline_us, _p.id)
    .limit(_PAGE_OF_OVERDUE)
)
_NEXT = statement(
    select(_p.deadline_us)
    .where(_p.owner == bindparam("owner"), _p.deadline_us.is_not(None))
    .order_by(_p.deadline_us)
    .limit(1)
)
_PLACE = statement(select(_p.created_us, _p.agent).where(_p.owner == bindparam("owner"), _p.id == bindparam("id")))


def hash_arguments(arguments: Mapping[str, Any]) -> tuple[bytes, str]:
    """Arguments as they are kept, and the hash that an approval is bound to: RFC 8785, SHA-256, base64url.

    Refused: `not_canonical`, for instance where an integer is beyond 2^53.
    """
    data = canonical(arguments)
    return data, sha256_b64u(data)


def insert_row(unit: Unit, owner: str, found: Proposal, receipt: int) -> None:
    """Writes a proposal down."""
    arguments, _ = hash_arguments(found.arguments)
    unit.execute(
        _INSERT,
        {
            "owner": owner,
            "id": found.id,
            "created_us": micros(found.created_at),
            "agent": found.agent,
            "person": found.owner,
            "door": found.door,
            "act": found.act,
            "title": found.title,
            "context": found.context,
            "scopes": " ".join(sorted(found.scopes)),
            "arguments": arguments,
            "arguments_sha256": found.arguments_sha256,
            "constitution": found.constitution,
            "article": found.article,
            "note": found.note,
            **_changed(found, receipt),
        },
    )


def save_row(unit: Unit, owner: str, found: Proposal, receipt: int, *, seen: int) -> None:
    """Writes what a move changed. Refused: `proposal_moved` where somebody moved it since `seen`."""
    changed = {**_changed(found, receipt), "of_owner": owner, "of_id": found.id, "seen": seen}
    # Invariant PG-04: a move is saved over exactly the state it was decided on.
    if unit.execute(_SAVE, changed) != 1:
        raise Refused.because(PROPOSAL_MOVED, "Somebody else moved the proposal meanwhile", help="Read it again.")


def read_row(view: Reading, owner: str, proposal_id: str, *, agent: str | None = None, hold: bool = False) -> Kept:
    """A proposal. `agent` makes another agent's proposal look like none; `hold` keeps it for this unit alone.

    Refused: `unknown_proposal`, in the same words whether there is none or it is not theirs.
    """
    row = view.one(_HOLD if hold else _READ, {"owner": owner, "id": _checked(proposal_id)})
    if row is None or (agent is not None and row[_NAMES.index("agent")] != agent):
        raise unknown()
    return _read(row)


def list_rows(
    view: Reading,
    owner: str,
    *,
    states: Collection[ProposalState] | None,
    agent: str | None,
    context: str | None,
    after: str | None,
    limit: int,
) -> list[Proposal]:
    """Newest first, ties by id; `after` is the last id of the page before. Refused: `unknown_proposal` for that."""
    asked: dict[str, Any] = {"owner": owner, "limit": limit}
    if after is not None:
        place = view.one(_PLACE, {"owner": owner, "id": _checked(after)})
        if place is None or agent not in (None, place[1]):
            raise unknown()
        asked |= {"after_us": place[0], "after_id": after}
    if agent is not None:
        asked["agent"] = agent
    if context is not None:
        asked["context"] = context
    wanted = None if states is None else tuple(sorted(state.value for state in states))
    if wanted == ():
        return []
    return [_read(row).proposal for row in view.all(_listing(wanted, "agent" in asked, "context" in asked,
                                                             after is not None), asked)]  # fmt: skip


def overdue(view: Reading, owner: str, now: datetime) -> list[str]:
    """Ids of up to 64 proposals whose deadline has passed, the oldest first."""
    return [row[0] for row in view.all(_OVERDUE, {"owner": owner, "now": micros(now)})]


def next_deadline(view: Reading, owner: str) -> datetime | None:
    """When the next proposal lapses."""
    row = view.one(_NEXT, {"owner": owner})
    return None if row is None else from_micros(row[0])


def _checked(proposal_id: str) -> str:
    """What has no shape of an id names nothing; Postgres would not even take a NUL as text."""
    if not _ID.fullmatch(proposal_id):
        raise unknown()
    return proposal_id


def unknown() -> Refused:
    """The one refusal for what is not there and for what is another agent's."""
    return Refused.because(UNKNOWN_PROPOSAL, "There is no such proposal", place="$.proposal_id")


@cache
def _listing(states: tuple[str, ...] | None, by_agent: bool, by_context: bool, goes_on: bool) -> Statement:  # noqa: FBT001
    """One statement for each shape of list; how many there are is bounded by the states."""
    query = select(*_COLUMNS).where(_p.owner == bindparam("owner"))
    if states is not None:
        query = query.where(_p.state.in_(states))
    if by_agent:
        query = query.where(_p.agent == bindparam("agent"))
    if by_context:
        query = query.where(_p.context == bindparam("context"))
    if goes_on:
        query = query.where(tuple_(_p.created_us, _p.id) < tuple_(bindparam("after_us"), bindparam("after_id")))
    return statement(query.order_by(_p.created_us.desc(), _p.id.desc()).limit(bindparam("limit")))


def _changed(found: Proposal, receipt: int) -> dict[str, Any]:
    expires = micros(found.expires_at)
    over = found.result is not None or found.refusal is not None
    return {
        "state": found.state.value,
        "moves": found.moves,
        "deadline_us": expires if found.state in WAITING else None,
        "expires_us": expires,
        "changed_us": micros(found.changed_at),
        "receipt": receipt,
        "decision": None if found.decision is None else strictjson.encode(found.decision),
        "answers": strictjson.encode(found.answers) if found.answers else None,
        "question": None if found.question is None else strictjson.encode(found.question),
        "outcome": strictjson.encode({"result": found.result, "refusal": found.refusal}) if over else None,
    }


def _read(row: Row) -> Kept:
    it = dict(zip(_NAMES, row, strict=True))
    try:
        outcome = _decoded(it["outcome"], Outcome) or Outcome()
        found = Proposal(
            id=it["id"],
            agent=it["agent"],
            owner=it["person"],
            door=it["door"],
            act=it["act"],
            title=it["title"],
            arguments=strictjson.decode(bytes(it["arguments"]), dict[str, Any]),
            arguments_sha256=it["arguments_sha256"],
            constitution=it["constitution"],
            article=it["article"],
            state=ProposalState(it["state"]),
            context=it["context"],
            note=bytes(it["note"]),
            scopes=frozenset(it["scopes"].split()),
            created_at=from_micros(it["created_us"]),
            expires_at=from_micros(it["expires_us"]),
            changed_at=from_micros(it["changed_us"]),
            moves=it["moves"],
            decision=_decoded(it["decision"], Decision),
            answers=_decoded(it["answers"], tuple[Answer, ...]) or (),
            question=_decoded(it["question"], Question),
            result=outcome.result,
            refusal=outcome.refusal,
        )
    except (Refused, ValueError) as wrong:
        raise Corrupt(f"a proposal cannot be read: {wrong}", it["id"]) from wrong
    return Kept(proposal=found, receipt=it["receipt"])


def _decoded(data: bytes | None, type_: Any) -> Any:
    return None if data is None else strictjson.decode(bytes(data), type_)
