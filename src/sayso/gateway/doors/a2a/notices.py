"""Push notifications: whenever a task moves, what its agent asked to be told is put into the outbox.

A configuration remembers the move it last told of, and the note and the delivery are one unit: each move that is seen
is told once, by whichever process sees it first. Moves that follow one another faster than this looks are told as one.
1.0 is sent a StreamResponse that holds the task, 0.3 the task itself. An agent that is suspended, or has no key left
that works, is told nothing. At the task's end its configurations go: there is nothing more to tell.
"""

from __future__ import annotations

from typing import Never

from sayso.core import strictjson
from sayso.gateway.doors.a2a import shelf
from sayso.gateway.doors.a2a.shelf import Due
from sayso.gateway.doors.a2a.tasks import Tasks
from sayso.gateway.doors.a2a.values import ENDED, A2aTask, PushConfig, Version
from sayso.gateway.doors.a2a.write import v03, v10
from sayso.gateway.doors.a2a.write.errors import A2A_JSON, JSON
from sayso.gateway.listening import MayBeTold
from sayso.gateway.pushing import Push, put_push
from sayso.governance.moving import GATE
from sayso.store.unit import Store, Unit

__all__ = ("Notices", "write_push_message")

_TOKEN = "X-A2A-Notification-Token"  # noqa: S105 - a header's name


class Notices:
    """Watches the Gate for one owner's push configurations. Run it in the house's task group."""

    def __init__(self, store: Store, tasks: Tasks, owner: str, may_be_told: MayBeTold) -> None:
        self._store = store
        self._may_be_told = may_be_told
        self._tasks = tasks
        self._owner = owner

    async def run(self) -> Never:
        """Until it is cancelled; any number of processes may."""
        while True:
            mark = self._store.wake.mark(GATE)
            while await self.tell_due():
                pass
            await self._store.wake.wait(GATE, mark)

    async def tell_due(self) -> int:
        """Puts what is due into the outbox; how many configurations were due."""
        due = await self._store.reading(lambda view: shelf.read_due(view, self._owner))
        for each in due:
            await self._tell(each)
        return len(due)

    async def _tell(self, due: Due) -> None:
        found = await self._tasks.find(due.agent, due.config.task)
        moves = found.proposal.moves if found.proposal else due.moves
        push = write_push_message(due.config, due.version, found.task, due.agent)

        def body(unit: Unit) -> None:
            # Noted all the same where its agent may not be told: what it missed is not told later.
            is_over = found.task.status.state in ENDED
            noted = shelf.tell_push(unit, self._owner, due, moves, is_over=is_over)
            if noted and self._may_be_told(unit, due.agent):
                put_push(unit, f"{self._owner}/{due.config.task}/{due.config.id}/{moves}", push)

        await self._store.unit(body)


def write_push_message(config: PushConfig, version: Version, task: A2aTask, agent: str) -> Push:
    """What is posted, and under which headers. The agent's secrets go to its own address only."""
    value = v10.event(task) if version == "1.0" else v03.task(task)
    headers = [("content-type", A2A_JSON if version == "1.0" else JSON), ("a2a-version", version)]
    if config.token:
        headers.append((_TOKEN, config.token))
    if config.scheme and config.credentials:
        headers.append(("authorization", f"{config.scheme} {config.credentials}"))
    return Push(url=config.url, headers=tuple(headers), body=strictjson.encode(value), agent=agent, about=config.task)
