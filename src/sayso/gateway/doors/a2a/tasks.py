"""An agent's tasks: proposals of its own, and the disclosures it asked for through this door."""

from __future__ import annotations

import msgspec

from sayso.core import b64u, strictjson
from sayso.core.refusal import Refused
from sayso.gateway.doors.a2a import shelf
from sayso.gateway.doors.a2a.codes import invalid_params, task_not_found
from sayso.gateway.doors.a2a.states import of_proposal, with_history
from sayso.gateway.doors.a2a.values import A2aTask, Listing, Message, Page, PushConfig
from sayso.governance.gate import Gate
from sayso.governance.proposal import Proposal
from sayso.store.unit import Store

__all__ = ("Found", "Tasks")

_LAST = (2**62, "")


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A task as it stands. `proposal` is there unless it was a disclosure, `message` unless another door took it."""

    task: A2aTask
    proposal: Proposal | None = None
    message: Message | None = None


class Tasks:
    """The tasks of one house, each looked up for one agent."""

    def __init__(self, store: Store, gate: Gate, owner: str) -> None:
        self.gate = gate
        self._store = store
        self._owner = owner

    async def find(self, agent: str, id_: str) -> Found:
        """Refused: `task_not_found`, the same for another agent's."""
        kept = await self._store.reading(lambda view: shelf.read_task(view, self._owner, agent, id_))
        if kept is not None and kept.over is not None:
            return Found(task=kept.over, message=kept.message)
        try:
            proposal = await self.gate.find(id_, agent=agent)
        except Refused as refused:
            if refused.refusal.code != "unknown_proposal":
                raise
            raise task_not_found() from None
        message = None if kept is None else kept.message
        return Found(task=of_proposal(proposal, message), proposal=proposal, message=message)

    async def list(self, agent: str, wanted: Listing) -> Page:
        """A page, those that moved last first. Refused: `invalid_params` for a token that is none of ours."""
        before = _read_token(wanted.after)
        ids, total = await self._store.reading(lambda view: shelf.list_tasks(view, self._owner, agent, wanted, before))
        page, more = ids[: wanted.size], ids[wanted.size :]
        tasks = [with_history((await self.find(agent, id_)).task, wanted.history) for id_, _ in page]
        return Page(
            tasks=tuple(tasks),
            after=_write_token(page[-1]) if more else "",
            size=wanted.size,
            total=total,
            with_artifacts=wanted.with_artifacts,
        )

    async def pushes(self, agent: str, task: str) -> tuple[PushConfig, ...]:
        """The push configurations of an agent's task."""
        return await self._store.reading(lambda view: shelf.find_pushes(view, self._owner, agent, task))


def _write_token(last: tuple[str, int]) -> str:
    return b64u.encode(strictjson.encode([last[1], last[0]]))


def _read_token(token: str | None) -> tuple[int, str]:
    if token is None:
        return _LAST
    try:
        changed, id_ = strictjson.decode(b64u.decode(token), tuple[int, str])
    except Refused:
        raise invalid_params("This page token is none of ours", "pageToken") from None
    if not id_.isprintable():
        raise invalid_params("This page token is none of ours", "pageToken")
    return changed, id_
