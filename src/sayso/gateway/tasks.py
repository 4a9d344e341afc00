"""Work for outside agents: assigned by a person, done by the agent, its result kept and learnt from (GTW-005, GTW-006).

    assigned  --the agent posts a result-->  executed
    assigned  --the person takes it back-->  withdrawn

An assignment is a human decision and receipted as one. A result is stored under the hash of its content, goes through
the cognition bridge with the agent as its source, and makes the run executed, all in the unit that answers the agent;
whoever posts the same again is told the same, whoever posts another is refused. Somebody else's run and one that was
taken back look exactly like none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from sqlalchemy import BindParameter, Text, bindparam, or_, select, update

from sayso.core import b64u, strictjson
from sayso.core.canonical import canonical
from sayso.core.ids import Ids
from sayso.core.refusal import Refused
from sayso.core.strictjson import JsonValue
from sayso.gateway.assignment import Artifact, Assignment, State
from sayso.gateway.guard.rules.codes import Code, declare, refusal
from sayso.gateway.guard.rules.limits import DEFAULTS, check_payload
from sayso.gateway.knowledge.domains import load_domains
from sayso.gateway.knowledge.intake import Ingest, Ingested
from sayso.gateway.knowledge.memory import SemanticMemory
from sayso.gateway.knowledge.rules.passages import words_of
from sayso.gateway.knowledge.rules.taxonomy import Domains
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules import kinds
from sayso.ledger.rules.record import Draft, Link
from sayso.proof.hashes import sha256
from sayso.store.tables import from_micros, micros
from sayso.store.tables.gateway import gateway_agents
from sayso.store.tables.gateway_tasks import gateway_artifact, gateway_assignment
from sayso.store.unit import Reading, Row, Store, Unit, insert, statement

__all__ = ("Artifact", "Assignment", "Finish", "State", "Tasks")

ASSIGNED = kinds.declare(
    "task.assigned", "A person assigned work to an outside agent; its budget and its input's hash."
)
WITHDRAWN = kinds.declare("task.withdrawn", "A person took assigned work back before it was done.")
EXECUTED = kinds.declare("task.executed", "An agent delivered the result of its work; the hash of the artifact.")

CONFLICT = declare(
    Code("task_result_conflict", 409, 40960, "This run has another result already", "A result is posted once.")
).code
NOT_FOUND = "run_not_found_for_agent"

ARTIFACT_TYPE = "result"
_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/+-]{0,63}")
_MOST_CENTS = 2**31 - 1
_LONGEST_REASON = 2000
_LONGEST_INPUT = 8192
_OFFERED = 100

_t = gateway_assignment.c
_owner: BindParameter[str] = bindparam("owner")
_COLUMNS = (
    _t.id, _t.agent, _t.task_type, _t.input, _t.budget_cents, _t.domain_key, _t.reason, _t.approved_by,
    _t.approved_at_us, _t.state, _t.settled_at_us, _t.artifact_type, _t.artifact_sha256,
)  # fmt: skip
_NEW = statement(insert(gateway_assignment))
_AGENT = statement(
    select(gateway_agents.c.agent).where(gateway_agents.c.owner == _owner, gateway_agents.c.agent == bindparam("agent"))
)
_FIND = statement(select(*_COLUMNS).where(_t.owner == _owner, _t.id == bindparam("id")))
_OPEN = statement(
    select(*_COLUMNS)
    .where(_t.owner == _owner, _t.agent == bindparam("agent"), _t.state == "assigned")
    .order_by(_t.approved_at_us, _t.id)
    .limit(_OFFERED)
)
_one_agent: BindParameter[str] = bindparam("agent", type_=Text)
_one_state: BindParameter[str] = bindparam("state", type_=Text)
_LIST = statement(
    select(*_COLUMNS)
    .where(_t.owner == _owner)
    .where(or_(_one_agent == "", _t.agent == _one_agent), or_(_one_state == "", _t.state == _one_state))
    .order_by(_t.approved_at_us.desc(), _t.id.desc())
    .limit(bindparam("limit"))
)
_SETTLE = statement(
    update(gateway_assignment)
    .where(_t.owner == bindparam("of"), _t.id == bindparam("which"), _t.state == "assigned")
    .values(
        state=bindparam("to"),
        settled_at_us=bindparam("at"),
        artifact_type=bindparam("type"),
        artifact_sha256=bindparam("hash"),
    )
)
_KEEP = statement(insert(gateway_artifact).on_conflict_do_nothing())
_ARTIFACT = statement(
    select(gateway_artifact.c.data, gateway_artifact.c.stored_at_us).where(
        gateway_artifact.c.owner == _owner, gateway_artifact.c.sha256 == bindparam("sha256")
    )
)


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """A result made ready to be kept; `is_repeat` where exactly this was kept before."""

    assignment: Assignment
    artifact_type: str
    sha256: str
    data: bytes
    ingested: Ingested | None = None
    is_repeat: bool = False


class Tasks:
    """The work that one owner has assigned. `domains` are what a domain key may be."""

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        memory: SemanticMemory,
        owner: str,
        ids: Ids,
        domains: Domains | None = None,
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._memory = memory
        self._owner = owner
        self._ids = ids
        self._domains = load_domains() if domains is None else domains

    # -- the person's side

    async def assign(
        self,
        agent: str,
        task_type: str,
        input: JsonValue,  # noqa: A002 - the member's name on the wire
        *,
        budget_cents: int,
        reason: str,
        approved_by: str,
        domain_key: str | None = None,
    ) -> Assignment:
        """Assigns work to an agent, by its id. Refused: `malformed_task`, `payload_limits`, `unknown_agent`,
        `unknown_domain`.
        """
        check_payload(input, "$.input", DEFAULTS)
        data = canonical(input)
        self._check(task_type, data, budget_cents, reason, domain_key)
        run_id = self._ids.new("run")

        def write(unit: Unit) -> Assignment:
            if unit.one(_AGENT, {"owner": self._owner, "agent": agent}) is None:
                raise Refused.because("unknown_agent", f"No agent has the id {agent}", help="List the agents.")
            unit.execute(_NEW, {
                "owner": self._owner, "id": run_id, "agent": agent, "task_type": task_type, "input": data,
                "budget_cents": budget_cents, "domain_key": domain_key, "reason": reason, "approved_by": approved_by,
                "approved_at_us": micros(unit.now), "state": "assigned", "settled_at_us": None, "artifact_type": None,
                "artifact_sha256": None,
            })  # fmt: skip
            facts: dict[str, JsonValue] = {
                "agent": agent, "budget_cents": budget_cents, "run": run_id, "task_type": task_type,
                "reason_sha256": _hash(reason.encode()),
            }  # fmt: skip
            self._ledger.append_in(unit, Draft(kind=ASSIGNED, actor=approved_by, inputs_sha256=_hash(data), body=facts))
            unit.wake(f"tasks {self._owner}")
            return self._find(unit, run_id)

        return await self._store.unit(write)

    async def withdraw(self, run_id: str, *, by: str) -> Assignment:
        """Takes work back that is not done. Refused: `unknown_task`, `task_is_over`."""

        def write(unit: Unit) -> Assignment:
            found = self._find(unit, run_id)
            values = {"of": self._owner, "which": run_id, "to": "withdrawn", "at": micros(unit.now)}
            if not unit.execute(_SETTLE, {**values, "type": None, "hash": None}):
                raise Refused.because("task_is_over", f"The run is {found.state} and stays so")
            facts: dict[str, JsonValue] = {"agent": found.agent, "run": run_id}
            self._ledger.append_in(unit, Draft(kind=WITHDRAWN, actor=by, body=facts))
            unit.wake(f"tasks {self._owner}")
            return self._find(unit, run_id)

        return await self._store.unit(write)

    async def list(
        self, *, agent: str | None = None, state: State | None = None, limit: int = 100
    ) -> Sequence[Assignment]:
        """Assignments, the newest first: the last `limit`, narrowed to an agent or a state where those are given."""
        values = {"owner": self._owner, "agent": agent or "", "state": state or "", "limit": limit}
        return [_assignment(row) for row in await self._store.reading(lambda view: view.all(_LIST, values))]

    async def find(self, run_id: str) -> Assignment:
        """One assignment. Refused: `unknown_task`."""
        return await self._store.reading(lambda view: self._find(view, run_id))

    async def artifact(self, sha256_b64u: str) -> Artifact | None:
        """What was delivered under this hash, or None. Refused: `malformed_base64url`."""
        values = {"owner": self._owner, "sha256": b64u.decode(sha256_b64u)}
        row = await self._store.reading(lambda view: view.one(_ARTIFACT, values))
        if row is None:
            return None
        return Artifact(sha256=sha256_b64u, data=bytes(row[0]), stored_at=from_micros(row[1]))

    # -- the agent's side

    async def assigned_to(self, agent: str) -> Sequence[Assignment]:
        """What an agent has to do, the oldest first; up to 100 at once, the rest as these are done."""
        values = {"owner": self._owner, "agent": agent}
        return [_assignment(row) for row in await self._store.reading(lambda view: view.all(_OPEN, values))]

    async def prepare(self, agent: str, run_id: str, artifact_type: str | None, body: JsonValue) -> Finish:
        """Makes a result ready for `finish_in`; nothing is stored.

        Refused: `run_not_found_for_agent`, `task_result_conflict`, `schema_invalid` where the type is no type or a
        number has no canonical form.
        """
        type_ = ARTIFACT_TYPE if artifact_type is None else artifact_type
        data = _read_result(type_, body)
        found = await self._store.reading(lambda view: self._theirs(view, agent, run_id))
        finish = Finish(assignment=found, artifact_type=type_, sha256=_hash(data), data=data)
        if found.state == "executed":
            return _repeated(finish, found)
        return msgspec.structs.replace(finish, ingested=await self._memory.prepare(_ingest(finish, body)))

    def finish_in(self, unit: Unit, agent: str, finish: Finish) -> None:
        """Keeps a result: the artifact, what is learnt from it, the run's new state and the receipt, in one unit.

        Refused, with nothing kept: `task_result_conflict` or `run_not_found_for_agent`, where somebody was faster.
        """
        if finish.ingested is None:
            return
        run_id, digest = finish.assignment.id, b64u.decode(finish.sha256)
        # Invariant G-20: a run is executed once; only `assigned` leads there, and one update takes it.
        taken = unit.execute(_SETTLE, {
            "of": self._owner, "which": run_id, "to": "executed", "at": micros(unit.now),
            "type": finish.artifact_type, "hash": digest,
        })  # fmt: skip
        if not taken:
            _repeated(finish, self._theirs(unit, agent, run_id))
            return
        unit.execute(
            _KEEP,
            {"owner": self._owner, "sha256": digest, "data": finish.data, "stored_at_us": micros(unit.now)},
        )
        kept = self._memory.ingest_in(unit, finish.ingested)
        facts: dict[str, JsonValue] = {
            "artifact_type": finish.artifact_type,
            "document": kept.document,
            "run": run_id,
            "task_type": finish.assignment.task_type,
        }
        link = Link(role="artifact", sha256=finish.sha256)
        self._ledger.append_in(unit, Draft(kind=EXECUTED, actor=agent, article="II", links=(link,), body=facts))
        unit.wake(f"tasks {self._owner}")

    def _check(self, task_type: str, data: bytes, budget_cents: int, reason: str, domain_key: str | None) -> None:
        if not _TYPE.fullmatch(task_type):
            raise _malformed("A task's type is up to 64 letters, digits, dots, slashes, hyphens", "task_type")
        if not 0 <= budget_cents <= _MOST_CENTS:
            raise _malformed("A budget is a whole number of cents, 0 or more", "budget_cents")
        if not 0 < len(reason.strip()) <= _LONGEST_REASON:
            raise _malformed("An assignment has a reason", "reason")
        if len(data) > _LONGEST_INPUT:
            raise _malformed(f"The input is longer than {_LONGEST_INPUT} bytes", "input")
        if domain_key is not None:
            self._domains.find(domain_key, place="domain_key")

    def _find(self, view: Reading, run_id: str) -> Assignment:
        row = view.one(_FIND, {"owner": self._owner, "id": run_id})
        if row is None:
            raise Refused.because("unknown_task", f"No run has the id {run_id}", help="List the tasks.")
        return _assignment(row)

    def _theirs(self, view: Reading, agent: str, run_id: str) -> Assignment:
        row = view.one(_FIND, {"owner": self._owner, "id": run_id})
        found = None if row is None else _assignment(row)
        if found is None or found.agent != agent or found.state == "withdrawn":
            raise Refused(refusal(NOT_FOUND))
        return found


def _read_result(artifact_type: str, body: JsonValue) -> bytes:
    if not _TYPE.fullmatch(artifact_type):
        raise Refused(refusal("schema_invalid", "An artifact's type is a short name", place="$.artifact_type"))
    try:
        return canonical(body)
    except Refused as refused:
        raise Refused(refusal("schema_invalid", refused.refusal.message, place="$.body")) from None


def _repeated(finish: Finish, found: Assignment) -> Finish:
    if (found.artifact_type, found.artifact_sha256) != (finish.artifact_type, finish.sha256):
        raise Refused(refusal(CONFLICT))
    return msgspec.structs.replace(finish, is_repeat=True)


def _ingest(finish: Finish, body: JsonValue) -> Ingest:
    """The result as memory takes it in: its words, and where they come from. A result without any has its name."""
    found = finish.assignment
    title = f"{found.task_type}: {finish.artifact_type}"
    words = words_of(body)
    return Ingest(
        title=title,
        text=words if any(map(str.isalnum, words)) else title,
        source="artifact",
        by=found.agent,
        by_kind="agent",
        domain_keys=() if found.domain_key is None else (found.domain_key,),
        run_id=found.id,
        content_sha256=finish.sha256,
    )


def _assignment(row: Row) -> Assignment:
    run_id, agent, task_type, data, cents, domain_key, reason, by, approved, state, settled, type_, digest = row
    return Assignment(
        id=run_id,
        agent=agent,
        task_type=task_type,
        input=strictjson.parse(bytes(data)),
        budget_cents=cents,
        domain_key=domain_key,
        reason=reason,
        approved_by=by,
        approved_at=from_micros(approved),
        state=state,
        settled_at=None if settled is None else from_micros(settled),
        artifact_type=type_,
        artifact_sha256=None if digest is None else b64u.encode(bytes(digest)),
    )


def _hash(data: bytes) -> str:
    return b64u.encode(sha256(data))


def _malformed(message: str, place: str) -> Refused:
    return Refused.because("malformed_task", message, place=place)
