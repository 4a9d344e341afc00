"""In which order breaks are tried when there is not time for all of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sayso.testing.breaks import Break

__all__ = ("in_turn", "touches")


def in_turn(breaks: Sequence[Break], turn: int, changed: Collection[str], recent: Sequence[str]) -> list[Break]:
    """All of them, each once: those of `changed` files, the most `recent` first, then the tenths from `turn` on."""
    ages: dict[str, int] = {}
    for age, file in enumerate(recent):
        ages.setdefault(file, age)
    first = [each for each in breaks if touches(each, changed)]
    first.sort(key=lambda each: min(ages.get(file, len(recent)) for file in _files(each)))
    told = {each.id for each in first}
    others = [each for tenth in range(10) for each in breaks[(turn + tenth) % 10 :: 10] if each.id not in told]
    return [*first, *others]


def touches(each: Break, changed: Collection[str]) -> bool:
    """Whether a break's file or one of its tests' is among those changed."""
    return not _files(each).isdisjoint(changed)


def _files(each: Break) -> set[str]:
    return {each.file, *(test.partition("::")[0] for test in each.tests)}
