"""The task feed's door: what is assigned to the caller, and what it delivers (GTW-005, GTW-006)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from starlette.routing import Route

from sayso.core import strictjson
from sayso.core.strictjson import JsonValue
from sayso.gateway.assignment import Assignment
from sayso.gateway.beneath import beneath
from sayso.gateway.crossing import Answer, Crossing, Denial, Stream
from sayso.gateway.doors.door import door_app
from sayso.gateway.doors.tasks import wire
from sayso.gateway.doors.tasks.read import PREFIX, Deliver, ReadFeed, read_call
from sayso.gateway.gateway import Gateway, Passage
from sayso.net.edge import LOOPBACK_HOSTS
from sayso.store.unit import Unit

__all__ = ("TaskDoor", "Work", "deny", "routes")


class Work(Protocol):
    """Where work is kept (`gateway.tasks.Tasks`), as far as this door knows it: what is learnt from it is not its."""

    async def assigned_to(self, agent: str) -> Sequence[Assignment]: ...
    async def prepare(self, agent: str, run_id: str, artifact_type: str | None, body: JsonValue) -> Any: ...
    def finish_in(self, unit: Unit, agent: str, finish: Any) -> None: ...


class TaskDoor:
    """One house's task feed."""

    name = "tasks"

    def __init__(self, tasks: Work) -> None:
        self._tasks = tasks

    def deny(self, crossing: Crossing, denial: Denial) -> Answer:
        """A no: `ok` is false, and the error says why."""
        return deny(crossing, denial)

    async def answer(self, passage: Passage) -> Answer | Stream:
        """Does what is asked. Refused: as `read_call`, `Tasks.prepare` and `Tasks.finish_in`."""
        match read_call(passage.crossing, passage.limits):
            case ReadFeed():
                found = await self._tasks.assigned_to(passage.agent.id)
                feed = wire.Feed(agent=passage.agent.id, tasks=[_task(each) for each in found])
                return await passage.settle(_answer(feed), about="tasks")
            case Deliver(run_id, result):
                return await self._deliver(passage, run_id, result)

    async def _deliver(self, passage: Passage, run_id: str, result: wire.Result) -> Answer:
        agent, tasks = passage.agent.id, self._tasks
        finish = await tasks.prepare(agent, run_id, result.artifact_type, result.body)
        kept = wire.Kept(artifact_type=finish.artifact_type, sha256=finish.sha256)
        delivered = wire.Delivered(agent=agent, run_id=run_id, artifact=kept)
        return await passage.settle(
            _answer(delivered), about="result", effect=lambda unit: tasks.finish_in(unit, agent, finish)
        )


def routes(gateway: Gateway, tasks: Work, *, hosts: Iterable[str] | None = LOOPBACK_HOSTS) -> list[Route]:
    """Every address of the task feed, what is none of its paths included."""
    return beneath(PREFIX.decode(), door_app(gateway, TaskDoor(tasks), hosts=hosts))


def deny(_crossing: Crossing, denial: Denial) -> Answer:
    """A no in the task feed's shape."""
    refusal = denial.refusal
    why = wire.Why(
        code=refusal.code,
        message=refusal.message,
        reason=refusal.reason,
        place=refusal.place,
        help=refusal.help,
        details=dict(refusal.details),
        left=denial.left,
        retry_after=denial.retry_after,
    )
    return Answer(status=denial.status, body=strictjson.encode(wire.Failure(error=why)))


def _answer(document: wire.Feed | wire.Delivered) -> Answer:
    return Answer(status=200, body=strictjson.encode(document))


def _task(assignment: Assignment) -> wire.OpenTask:
    return wire.OpenTask(
        id=assignment.id,
        task_type=assignment.task_type,
        budget_cents=assignment.budget_cents,
        approved_by=assignment.approved_by,
        approved_at=assignment.approved_at,
        input=assignment.input,
        domain_key=assignment.domain_key,
        reason=assignment.reason,
    )
