"""The operations of scheduling as outside agents get them, through the gateway's doors (GTW-030, GTW-040).

They are the same operations, with two differences. There is `book_slot`, because a queue's answer may take hours; and a
booking is shown to whoever names it, never all of the person's bookings to whoever asks: ids are unguessable, and an
agent has those of what it booked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec

from sayso.governance.acts import Act, Operation, Registry
from sayso.governance.consent import Answer, Consent, ConsentSource, Question
from sayso.scheduling.tools.acts import (
    APPROVE_AND_BOOK,
    BOOKING_STATUS,
    CANCEL_BOOKING,
    CHANGE_BOOKING,
    DISCOVER_HOST,
    FIND_SLOTS,
    HOLD_SLOT,
)
from sayso.scheduling.tools.arguments import BookingStatus, BookingStatusOf
from sayso.scheduling.tools.assistant import Assistant
from sayso.scheduling.tools.booking_at_once import BOOK_SLOT, BookingAtOnce
from sayso.scheduling.tools.consent import SchedulingConsent
from sayso.scheduling.tools.operations import Operations, Result

__all__ = ("ACTS_AT_DOORS", "register_at_doors")

BOOKING_STATUS_OF: Act = msgspec.structs.replace(
    BOOKING_STATUS,
    title="Look at a booking",
    description=(
        "Shows one booking as its host has it now: when, where, what it costs, whether it stands, and what the person "
        "signed. The id is in the result of book_slot."
    ),
    arguments=BookingStatusOf,
)

ACTS_AT_DOORS = (
    DISCOVER_HOST,
    FIND_SLOTS,
    BOOK_SLOT,
    HOLD_SLOT,
    APPROVE_AND_BOOK,
    CANCEL_BOOKING,
    CHANGE_BOOKING,
    BOOKING_STATUS_OF,
)
"""What is offered, in the order an agent meets it."""

T = TypeVar("T", bound=msgspec.Struct)


def register_at_doors(registry: Registry, open_assistant: Callable[[], Assistant]) -> Sequence[ConsentSource]:
    """Registers each act; the consent sources to ask. `open_assistant` makes a new one for each call, so that what was
    signed for one request is never taken for another.
    """
    at_once = BookingAtOnce(open_assistant)

    def opened(name: str) -> Operation:
        async def run(ask: Any, consent: Consent | None) -> Result | Question:
            operation: Callable[[Any, Consent | None], Awaitable[Result | Question]]
            operation = getattr(Operations(open_assistant()), name)
            return await operation(ask, consent)

        return run

    async def status_of(ask: BookingStatusOf, consent: Consent | None) -> Result:
        return await Operations(open_assistant()).booking_status(BookingStatus(booking_id=ask.booking_id), consent)

    own: dict[str, Operation] = {BOOK_SLOT.name: at_once.book, BOOKING_STATUS_OF.name: status_of}
    for act in ACTS_AT_DOORS:
        registry.register(act, own.get(act.name) or opened(act.name))
    return (at_once, _Opening(open_assistant))


class _Opening:
    """The consent source of scheduling, with an assistant of its own for each question."""

    def __init__(self, open_assistant: Callable[[], Assistant]) -> None:
        self._open = open_assistant

    async def consent(
        self, act_name: str, arguments: msgspec.Struct, answers: Sequence[Answer]
    ) -> Consent | Question | None:
        return await SchedulingConsent(self._open()).consent(act_name, arguments, answers)
