"""The tables of phrasings: what ordinary people type, and what must be understood (format: head of phrases.toml).

`phrases.toml` was written beside the code, `blind_phrases.toml` by someone who had not seen it; one rule judges both.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from sayso.control.provider.planner.language.subject import content_words
from sayso.control.provider.planner.language.understand import understand
from sayso.control.provider.planner.language.understood import Understood

FOLDER = Path(__file__).parents[1]
NOW = "2026-10-13T09:00:00-04:00"
ZONE = ZoneInfo("America/Toronto")


@dataclass(frozen=True)
class Said:
    """What a phrase means, in the table's own spelling, as far as it is compared."""

    intent: str
    service: tuple[str, ...] = ()
    host: str | None = None
    person: str | None = None
    days: frozenset[date] = frozenset()
    times: frozenset[str] = frozenset()
    done_by: str | None = None
    soonest: bool = False
    price: Decimal | None = None
    currency: str | None = None
    shift: int | None = None
    from_days: frozenset[date] = frozenset()
    from_times: frozenset[str] = frozenset()
    problems: frozenset[str] = field(default_factory=frozenset)


def expected(entry: dict) -> Said:
    """An entry of a table."""
    return Said(
        intent=entry["intent"],
        service=content_words(entry.get("service", "")),
        host=entry.get("host"),
        person=entry.get("person"),
        days=_days(entry.get("days", "")),
        times=_times(entry.get("times", "")),
        done_by=entry.get("done_by"),
        soonest=entry.get("soonest", False),
        price=Decimal(str(entry["price"])) if "price" in entry else None,
        currency=entry.get("currency"),
        shift=entry.get("shift"),
        from_days=_days(entry.get("from_days", "")),
        from_times=_times(entry.get("from_times", "")),
        problems=frozenset(entry.get("problems", ())),
    )


def understood(found: Understood) -> Said:
    """The same of what was understood."""
    return Said(
        intent=found.intent.value,
        service=content_words(found.service or ""),
        host=found.host,
        person=found.person,
        days=frozenset(found.days),
        times=frozenset(_window(w.earliest, w.latest, w.near) for w in found.times),
        done_by=_clock(found.done_by) or None,
        soonest=found.soonest,
        price=found.price.amount if found.price else None,
        currency=found.price.currency if found.price else None,
        shift=found.shift,
        from_days=frozenset(found.from_days),
        from_times=frozenset(_window(w.earliest, w.latest, w.near) for w in found.from_times),
        problems=frozenset(problem.value for problem in found.problems),
    )


def _days(text: str) -> frozenset[date]:
    days: set[date] = set()
    for part in filter(None, text.replace(" ", "").split(",")):
        first, _, last = part.partition("..")
        start = date.fromisoformat(first)
        length = (date.fromisoformat(last) - start).days if last else 0
        days |= {start + timedelta(days=n) for n in range(length + 1)}
    return frozenset(days)


def _times(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.split(",") if part.strip())


def _window(earliest: time | None, latest: time | None, near: time | None) -> str:
    if earliest is not None and earliest == latest:
        return _clock(earliest)
    return f"{_clock(earliest)}..{_clock(latest)}" + (f" near {_clock(near)}" if near else "")


def _clock(value: time | None) -> str:
    return value.strftime("%H:%M") if value else ""


def _entries() -> Iterator[object]:
    for name in ("phrases.toml", "blind_phrases.toml"):
        path = FOLDER / name
        if path.exists():
            for entry in tomllib.loads(path.read_text(encoding="utf-8"))["phrase"]:
                yield pytest.param(entry, id=f"{path.stem}: {entry['text'][:60]}")


@pytest.mark.parametrize("entry", list(_entries()))
def test_a_phrase_is_understood_as_the_table_says(entry: dict) -> None:
    """Every member of the entry, and nothing beyond it, is understood."""
    now = datetime.fromisoformat(entry.get("now", NOW))
    assert understood(understand(entry["text"], now, ZONE)) == expected(entry)


def test_the_table_has_at_least_eighty_phrasings() -> None:
    """The table is what the planner is judged by, so it may not shrink."""
    texts = {entry["text"] for entry in tomllib.loads((FOLDER / "phrases.toml").read_text(encoding="utf-8"))["phrase"]}
    assert len(texts) >= 80
