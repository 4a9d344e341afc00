"""A small town for the planner's tests: the scheduling tools' answers in their published shapes, and a driver that runs
a conversation between a person, the planner and these tools, showing every step.

The planner sees only JSON, so this stands for the tools by what they answer, not for any code of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from sayso.control.protocol.payloads.content import Message, TextPart, ToolCallPart, ToolResultPart
from sayso.control.provider.planner.plan import plan
from sayso.control.provider.planner.steps import Call, Say

ZONE = ZoneInfo("America/Toronto")
NOW = datetime(2026, 10, 13, 9, 0, tzinfo=ZONE)
TOOLS = (
    "discover_host",
    "find_slots",
    "hold_slot",
    "approve_and_book",
    "cancel_booking",
    "change_booking",
    "booking_status",
)
SYSTEM = f"You act for one person.\nnow: {NOW.isoformat()}\nzone: {ZONE.key}"


@dataclass
class Shop:
    """One host. `busy` names starts that are not free, as `2026-10-15T13:00`; `hours` are its first and last start."""

    host: str = "salon@harbour.example"
    name: str = "Harbour Salon"
    services: tuple[tuple[str, str, int, str | None], ...] = (
        ("trim", "Beard trim", 45, "89.27"),
        ("cut", "Haircut", 30, "40.00"),
        ("classic", "Classic facial", 60, "70.00"),
        ("deluxe", "Deluxe facial", 60, "120.00"),
    )
    hours: tuple[int, int] = (8 * 60, 17 * 60 + 15)
    busy: set[str] = field(default_factory=set)
    currency: str = "CAD"
    people: tuple[str, ...] = ()

    def described(self) -> dict[str, object]:
        return {"host": self.host, "name": self.name, "services": [self._service(*each) for each in self.services]}

    def _service(self, service_id: str, title: str, minutes: int, total: str | None) -> dict[str, object]:
        told: dict[str, object] = {
            "service_id": service_id,
            "title": title,
            "duration_minutes": minutes,
            "takes": f"{minutes} minutes",
        }
        if self.people:
            told["choose_from"] = list(self.people)
        if total is not None:
            told["total"] = {"amount": total, "currency": self.currency}
            told["price_in_words"] = f"{self.currency} {total} in total"
        return told

    def slots(self, service_id: str, earliest: str, latest: str) -> list[dict[str, object]]:
        total = next(each[3] for each in self.services if each[0] == service_id)
        first = max(_local(earliest), NOW.replace(tzinfo=None))
        last, slots, at = _local(latest), [], _local(earliest).replace(hour=0, minute=0)
        while at <= last:
            minutes = at.hour * 60 + at.minute
            if at >= first and self.hours[0] <= minutes <= self.hours[1] and f"{at:%Y-%m-%dT%H:%M}" not in self.busy:
                slot: dict[str, object] = {"start": at.replace(tzinfo=ZONE).isoformat()}
                slots.append(slot | ({"total": {"amount": total, "currency": self.currency}} if total else {}))
            at += timedelta(minutes=15)
        return slots


def _local(moment: str) -> datetime:
    return datetime.fromisoformat(moment).replace(tzinfo=None)


def refusal(reason: str, message: str, **details: object) -> dict[str, object]:
    """A refusal as the kernel writes it."""
    return {"refused": {"code": reason.upper(), "reason": reason, "message": message, "details": details}}


def booked(booking_id: str, title: str, start: str, *, status: str = "confirmed", shop: Shop | None = None) -> dict:
    """A booking as booking_status lists it."""
    shop = shop or Shop()
    return {
        "booking_id": booking_id,
        "what": f"{title} at {shop.name} (harbour.example)",
        "when": f"[{start}]",
        "start": datetime.fromisoformat(start).replace(tzinfo=ZONE).isoformat(),
        "host": shop.host,
        "status": status,
        "price": "CAD 89.27 in total",
    }


Answer = Callable[[Mapping[str, object]], object]


class Refusal(Exception):
    """A tool says no with this result."""

    def __init__(self, result: object) -> None:
        super().__init__(str(result))
        self.result = result


@dataclass
class Town:
    """Shops, bookings, and what was called. `answers` replaces a tool's answer; raising `Refusal` in it is an error."""

    shops: Sequence[Shop] = (Shop(),)
    bookings: list[dict] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    tools: Sequence[str] = TOOLS
    messages: list[Message] = field(default_factory=lambda: [Message(role="system", content=SYSTEM)])
    calls: list[tuple[str, dict]] = field(default_factory=list)
    last: Say | None = None
    ids: int = 0

    def say(self, text: str) -> str:
        """The person says something; the planner and the tools go on until it answers."""
        self.messages.append(Message(role="user", content=text))
        for _ in range(20):
            step = plan(tuple(self.messages), set(self.tools), NOW, ZONE)
            if isinstance(step, Say):
                self.last = step
                self.messages.append(Message(role="assistant", content=(TextPart(text=step.text),)))
                return step.text
            self._call(step)
        raise AssertionError("the planner does not come to an end")

    def made(self, *tools: str) -> list[dict]:
        """The arguments of every call of these tools."""
        return [arguments for tool, arguments in self.calls if tool in tools]

    def _call(self, step: Call) -> None:
        self.ids += 1
        call_id, arguments = f"call_{self.ids}", dict(step.arguments)
        self.calls.append((step.tool, arguments))
        parts = ((TextPart(text=step.said),) if step.said else ()) + (
            ToolCallPart(tool_call_id=call_id, name=step.tool, arguments_json=arguments),
        )
        self.messages.append(Message(role="assistant", content=parts))
        try:
            result, failed = self.answers.get(step.tool, getattr(self, f"_{step.tool}"))(arguments), False
        except Refusal as refused:
            result, failed = refused.result, True
        part = ToolResultPart(tool_call_id=call_id, result=result, is_error=failed)
        self.messages.append(Message(role="tool", content=(part,)))

    def _discover_host(self, arguments: Mapping[str, object]) -> object:
        return {"hosts": [shop.described() for shop in self.shops]}

    def _find_slots(self, arguments: Mapping[str, object]) -> object:
        shop = next(shop for shop in self.shops if shop.host == arguments["host"])
        slots = shop.slots(*(str(arguments[name]) for name in ("service_id", "earliest_start", "latest_start")))
        return {"free": len(slots), "slots": slots}

    def _hold_slot(self, arguments: Mapping[str, object]) -> object:
        return {"outcome": "held", "hold_id": f"h_{arguments['start']}", "differs_from_request": []}

    def _approve_and_book(self, arguments: Mapping[str, object]) -> object:
        start = str(arguments["hold_id"]).removeprefix("h_")
        return {"outcome": "confirmed", **booked("b_new", "Something", start[:16])}

    def _booking_status(self, arguments: Mapping[str, object]) -> object:
        return {"upcoming": len(self.bookings), "bookings": self.bookings}

    def _cancel_booking(self, arguments: Mapping[str, object]) -> object:
        found = next(each for each in self.bookings if each["booking_id"] == arguments["booking_id"])
        return {**found, "outcome": "cancelled", "status": "cancelled", "note": "Cancelling cost nothing."}

    def _change_booking(self, arguments: Mapping[str, object]) -> object:
        found = next(each for each in self.bookings if each["booking_id"] == arguments["booking_id"])
        return {**found, "outcome": "moved", "when": f"[{str(arguments['start'])[:16]}]"}
