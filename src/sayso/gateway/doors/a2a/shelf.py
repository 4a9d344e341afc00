"""The A2A door's rows: which messages became tasks, what disclosures answered, where to push.

Every lookup names the agent, so that another agent's task is not found, before anything else about it is looked at.
How a proposal stands is read from the Gate; only listing and the watch over pushes join its rows, so that a page is
sorted, filtered and counted in one view.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import BigInteger, Text, and_, bindparam, case, delete, func, or_, select, update

from sayso.core import strictjson
from sayso.gateway.doors.a2a.states import STATES, of_disclosure
from sayso.gateway.doors.a2a.values import A2aTask, Listing, Message, PushConfig, State, Version
from sayso.store.tables import from_micros, micros
from sayso.store.tables.gateway_a2a import gateway_a2a_push, gateway_a2a_task
from sayso.store.tables.governance import proposal
from sayso.store.unit import Reading, Row, Unit, insert, statement

__all__ = ("KEPT_FOR", "MOST_PUSHES", "Due", "Kept", "delete_push", "find_pushes", "keep_push", "keep_task",
           "list_tasks", "read_due", "read_task", "tell_push")  # fmt: skip

KEPT_FOR = timedelta(hours=24)
"""How long a disclosure's task can be read again."""
MOST_PUSHES = 8
"""Push configurations a task may have."""
_AT_ONCE = 32

_task, _push = gateway_a2a_task, gateway_a2a_push
_owned = and_(_task.c.owner == bindparam("of_owner"), _task.c.agent == bindparam("of_agent"))
_KEEP = statement(insert(_task))
_READ = statement(
    select(_task.c.context, _task.c.act, _task.c.message, _task.c.result, _task.c.state, _task.c.created_us).where(
        _owned, _task.c.id == bindparam("of_id")
    )
)
_old = (
    select(_task.c.id)
    .where(_owned, _task.c.state != "", _task.c.created_us < bindparam("before"))
    .limit(bindparam("limit"))
)
_OLD = statement(_old)
_REMOVE = statement(delete(_task).where(_task.c.owner == bindparam("of_owner"), _task.c.id == bindparam("of_id")))

_state = case(
    (_task.c.state != "", _task.c.state),
    *((proposal.c.state == theirs.value, ours.value) for theirs, ours in STATES.items()),
    else_=State.SUBMITTED.value,
)
_changed = func.coalesce(proposal.c.changed_us, _task.c.created_us, type_=BigInteger)
_joined = _task.outerjoin(proposal, and_(proposal.c.owner == _task.c.owner, proposal.c.id == _task.c.id))
_wanted = and_(
    _owned,
    or_(bindparam("context", type_=Text) == "", _task.c.context == bindparam("context", type_=Text)),
    or_(bindparam("state", type_=Text) == "", _state == bindparam("state", type_=Text)),
    _changed > bindparam("since", type_=BigInteger),
)
_LIST = statement(
    select(_task.c.id, _changed)
    .select_from(_joined)
    .where(
        _wanted,
        or_(
            _changed < bindparam("before", type_=BigInteger),
            and_(_changed == bindparam("before", type_=BigInteger), _task.c.id < bindparam("before_id", type_=Text)),
        ),
    )
    .order_by(_changed.desc(), _task.c.id.desc())
    .limit(bindparam("limit"))
)
_COUNT = statement(select(func.count()).select_from(_joined).where(_wanted))

_pushed = and_(_push.c.owner == bindparam("of_owner"), _push.c.task == bindparam("of_task"))
_KEEP_PUSH = statement(
    insert(_push).on_conflict_do_update(
        index_elements=["owner", "task", "id"],
        set_={name: insert(_push).excluded[name] for name in ("version", "url", "token", "scheme", "credentials")},
    )
)
_PUSH_COLUMNS = (_push.c.id, _push.c.url, _push.c.token, _push.c.scheme, _push.c.credentials)
_PUSHES = statement(
    select(*_PUSH_COLUMNS)
    .where(_pushed, _push.c.agent == bindparam("of_agent"))
    .order_by(_push.c.created_us, _push.c.id)
)
_DROP_PUSH = statement(
    delete(_push).where(_pushed, _push.c.id == bindparam("of_id"), _push.c.agent == bindparam("of_agent"))
)
_REMOVE_PUSHES = statement(delete(_push).where(_pushed))
_DUE = statement(
    select(_push.c.task, _push.c.agent, _push.c.version, _push.c.moves, *_PUSH_COLUMNS)
    .select_from(_push.join(proposal, and_(proposal.c.owner == _push.c.owner, proposal.c.id == _push.c.task)))
    .where(_push.c.owner == bindparam("of_owner"), proposal.c.moves > _push.c.moves)
    .limit(bindparam("limit"))
)
_TELL = statement(
    update(_push)
    .where(_pushed, _push.c.id == bindparam("of_id"), _push.c.moves == bindparam("seen"))
    .values(moves=bindparam("now_moves"))
)
_TELL_LAST = statement(
    delete(_push).where(_pushed, _push.c.id == bindparam("of_id"), _push.c.moves == bindparam("seen"))
)


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """A message that became a task. `over` is the task itself where it was a disclosure; a proposal's is the Gate's."""

    id: str
    context: str
    message: Message
    over: A2aTask | None = None


class Due(msgspec.Struct, frozen=True, kw_only=True):
    """A push configuration whose task has moved since it was last told, at `moves`."""

    config: PushConfig
    agent: str
    version: Version
    moves: int


def keep_task(unit: Unit, owner: str, agent: str, kept: Kept, act: str, result: Mapping[str, Any] | None) -> None:
    """Keeps a task, and lets go of a few of the agent's disclosures that were kept long enough."""
    over = kept.over
    row = {
        "owner": owner,
        "id": kept.id,
        "agent": agent,
        "context": kept.context,
        "act": act,
        "message": strictjson.encode(kept.message),
        "result": None if over is None else strictjson.encode(result),
        "state": "" if over is None else over.status.state.value,
        "created_us": micros(unit.now if over is None else over.status.at),
    }
    unit.execute(_KEEP, row)
    mine = {"of_owner": owner, "of_agent": agent}
    old = unit.all(_OLD, {**mine, "before": micros(unit.now - KEPT_FOR), "limit": _AT_ONCE})
    unit.many(_REMOVE, ({"of_owner": owner, "of_id": id_} for (id_,) in old))
    unit.many(_REMOVE_PUSHES, ({"of_owner": owner, "of_task": id_} for (id_,) in old))


def read_task(view: Reading, owner: str, agent: str, id_: str) -> Kept | None:
    """A task of this agent; None for one that does not exist, that is another's, or that was let go."""
    row = view.one(_READ, {"of_owner": owner, "of_agent": agent, "of_id": id_})
    if row is None:
        return None
    context, act, message, result, state, created_us = row
    said = strictjson.decode(bytes(message), Message)
    over = None
    if state:
        answered: Any = strictjson.parse(bytes(result))
        over = of_disclosure(
            id_, context, act, answered, from_micros(created_us), said, is_error=state == State.FAILED.value
        )
    return Kept(id=id_, context=context, message=said, over=over)


def list_tasks(
    view: Reading, owner: str, agent: str, wanted: Listing, before: tuple[int, str]
) -> tuple[list[tuple[str, int]], int]:
    """Ids with when they last changed, newest first, one more than a page holds where there are more; and how many
    there are in all.
    """
    filters = {
        "of_owner": owner,
        "of_agent": agent,
        "context": wanted.context or "",
        "state": wanted.state.value if wanted.state else "",
        "since": _micros_of(wanted.since),
    }
    page = {"before": before[0], "before_id": before[1], "limit": wanted.size + 1}
    rows = view.all(_LIST, {**filters, **page})
    count = view.one(_COUNT, filters)
    return [(id_, changed) for id_, changed in rows], count[0] if count else 0


def keep_push(unit: Unit, owner: str, agent: str, version: Version, config: PushConfig, moves: int) -> None:
    """Keeps a push configuration, or replaces the one with its id. `moves` is what the agent knows already."""
    unit.execute(
        _KEEP_PUSH,
        {
            "owner": owner,
            "task": config.task,
            "id": config.id,
            "agent": agent,
            "version": version,
            "url": config.url,
            "token": config.token,
            "scheme": config.scheme,
            "credentials": config.credentials,
            "moves": moves,
            "created_us": micros(unit.now),
        },
    )


def find_pushes(view: Reading, owner: str, agent: str, task: str) -> tuple[PushConfig, ...]:
    """Every push configuration of an agent's task, oldest first."""
    rows = view.all(_PUSHES, {"of_owner": owner, "of_task": task, "of_agent": agent})
    return tuple(_config(task, row) for row in rows)


def delete_push(unit: Unit, owner: str, agent: str, task: str, id_: str) -> None:
    """Forgets a push configuration, if it is there."""
    unit.execute(_DROP_PUSH, {"of_owner": owner, "of_task": task, "of_agent": agent, "of_id": id_})


def read_due(view: Reading, owner: str) -> list[Due]:
    """Configurations that have something to be told."""
    rows = view.all(_DUE, {"of_owner": owner, "limit": _AT_ONCE})
    return [
        Due(config=_config(task, row), agent=agent, version=version, moves=moves)
        for task, agent, version, moves, *row in rows
    ]


def tell_push(unit: Unit, owner: str, due: Due, moves: int, *, is_over: bool) -> bool:
    """Notes that a configuration was told of `moves`; False where somebody else was first. Once its task is over it has
    nothing left to tell and goes, or the watch would look at every configuration there ever was.
    """
    seen = {"of_owner": owner, "of_task": due.config.task, "of_id": due.config.id, "seen": due.moves}
    if is_over:
        return unit.execute(_TELL_LAST, seen) == 1
    return unit.execute(_TELL, {**seen, "now_moves": moves}) == 1


def _config(task: str, row: Row | list[Any]) -> PushConfig:
    id_, url, token, scheme, credentials = row
    return PushConfig(task=task, id=id_, url=url, token=token, scheme=scheme, credentials=credentials)


def _micros_of(instant: datetime | None) -> int:
    return -1 if instant is None else micros(instant)
