"""The people of the world, as data. Each has a key app and an agent of their own; none of them is code (SCH-372)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ("PEOPLE", "SAM", "Person")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who books. `asks` is what they tell their assistant when their story begins."""

    id: str
    name: str
    timezone: str
    asks: str


SAM: Final = Person(
    id="sam",
    name="Sam",
    timezone="America/Toronto",
    asks="Book my oil change Thursday around 1 PM, under $100",
)

PEOPLE: Final = (SAM,)
