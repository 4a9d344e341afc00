"""The people of the world, as data. Each has a key app and an agent of their own; none of them is code (SCH-372)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ("DANA", "INES", "LEE", "MIRA", "PEOPLE", "SAM", "TOM", "Person")


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

DANA: Final = Person(
    id="dana",
    name="Dana",
    timezone="America/Toronto",
    asks="Book a product demo with Ana on Thursday at 10 AM",
)
"""A vice president who wants a demo, and her chief technology officer at it (SCH-372, SCH-379)."""

LEE: Final = Person(
    id="lee",
    name="Lee",
    timezone="America/Toronto",
    asks="What do I have on Thursday",
)
"""Dana's chief technology officer: what he attends he accepts himself, from his own key app."""

MIRA: Final = Person(
    id="mira",
    name="Mira",
    timezone="America/Toronto",
    asks="Book a room for half an hour on Wednesday at noon",
)
"""One of three colleagues; she books the room, Tom and Ines are asked along (SCH-371, SCH-380)."""

TOM: Final = Person(id="tom", name="Tom", timezone="America/Toronto", asks="What do I have on Wednesday")
INES: Final = Person(id="ines", name="Ines", timezone="America/Toronto", asks="What do I have on Wednesday")

PEOPLE: Final = (SAM, DANA, LEE, MIRA, TOM, INES)
