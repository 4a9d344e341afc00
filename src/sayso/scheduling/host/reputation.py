"""How holds ended, as rows: one faded tally for each agent key, principal and attester of a host (spec section 8.6).

Written in the unit of work in which a hold ends, so that no outcome is counted twice or forgotten. Per host: two hosts
of one operator never see each other's tallies, although their rows may stand in one table (SCH-156).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlalchemy import bindparam, delete, select

from sayso.scheduling.rules.placing import StoredHold
from sayso.scheduling.rules.reputation import HALF_LIFE, Tally, allowance, check_standing, noted
from sayso.scheduling.rules.spans import micros
from sayso.store.statements import insert, statement
from sayso.store.tables.scheduling import host_reputation
from sayso.store.unit import Reading, Unit

__all__ = ("first_heard", "may_hold_for", "note", "of_hold", "prune", "read", "subjects")

_r = host_reputation.c
# One look at everybody that a hold is judged by: there are at most three.
_FIND = statement(
    select(_r.subject, _r.abandoned, _r.outcomes, _r.as_of_us).where(
        _r.host == bindparam("of_host"), _r.subject.in_([bindparam("one"), bindparam("two"), bindparam("three")])
    )
)
_write = insert(host_reputation)
_NOTE = statement(
    _write.on_conflict_do_update(
        index_elements=["host", "subject"],
        set_={name: _write.excluded[name] for name in ("abandoned", "outcomes", "as_of_us")},
    )
)

_PRUNE = statement(delete(host_reputation).where(_r.host == bindparam("of_host"), _r.as_of_us <= bindparam("until")))
_FORGOTTEN_AFTER = 10 * HALF_LIFE
"""Faded to a thousandth by then: whatever stood there would allow full length."""


def subjects(agent: str, principal: str, attester: str | None = None) -> tuple[str, ...]:
    """Whom a hold is judged by: the agent's key; the person, whom no new key makes another (SCH-140); and, of a
    newcomer in a lane, the attester whose lane it is (SCH-286).
    """
    found = f"agent {agent}", f"principal {principal}"
    return found if attester is None else (*found, f"attester {attester}")


def first_heard(view: Reading, host: str, attesters: Iterable[str]) -> str | None:
    """The first of the attesters whose word still counts here: one whose vouchees did not abandon too many holds."""
    for attester in attesters:
        (tally,) = read(view, host, f"attester {attester}")
        if allowance(tally, view.now) != timedelta(0):
            return attester
    return None


def of_hold(hold: StoredHold) -> tuple[str, ...]:
    """Whose record the end of a hold goes to."""
    return subjects(hold.agent, hold.principal, hold.attester)


def read(view: Reading, host: str, *subjects: str) -> list[Tally | None]:
    """The tally of each subject, of one to three; None for one whose holds have never ended here."""
    one, two, three = (*subjects, subjects[0], subjects[0])[:3]
    rows = view.all(_FIND, {"of_host": host, "one": one, "two": two, "three": three})
    found = {subject: Tally(*counts) for subject, *counts in rows}
    return [found.get(subject) for subject in subjects]


def may_hold_for(view: Reading, host: str, *subjects: str) -> timedelta | None:
    """The longest hold that all subjects' tallies allow, None where they set no limit. Refused: suspended."""
    return check_standing(read(view, host, *subjects), view.now)


def note(unit: Unit, host: str, *subjects: str, abandoned: bool, at: datetime) -> None:
    """Counts one outcome for each subject."""
    for subject, before in zip(subjects, read(unit, host, *subjects), strict=True):
        tally = noted(before, abandoned=abandoned, at=at)
        unit.execute(
            _NOTE,
            {
                "host": host,
                "subject": subject,
                "abandoned": tally.abandoned,
                "outcomes": tally.outcomes,
                "as_of_us": tally.as_of,
            },
        )


def prune(unit: Unit, host: str) -> None:
    """Forgets tallies in which nothing has happened for so long that they decide nothing: keys cost nothing to make."""
    unit.execute(_PRUNE, {"of_host": host, "until": micros(unit.now - _FORGOTTEN_AFTER)})
