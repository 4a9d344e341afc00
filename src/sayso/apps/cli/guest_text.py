"""What an act came to, in plain words: lines for a terminal, from the same result that an assistant would read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sayso.apps.asking.plain_text import plain
from sayso.governance.kernel import PEER_UNREACHABLE, Done
from sayso.scheduling.terms.quoted import named, quoted

__all__ = ("act_text",)

Result = Mapping[str, Any]


def act_text(name: str, done: Done) -> list[str]:
    """The lines of one act, done or refused."""
    lines = _refused(done.result) if done.is_error else _WORDS[name](done.result)
    return [f"{indent}{plain(text)}" for indent, text in lines]


Line = tuple[str, str]
"""An indent of our own, and words that may be somebody else's."""


def _refused(result: Result) -> Iterator[Line]:
    refused: Result = result.get("refused", {})
    by = f"{result['by']}: " if "by" in result else ""
    is_theirs = bool(by) and refused.get("code") != PEER_UNREACHABLE
    yield "", f"{by}{quoted(str(refused.get('message'))) if is_theirs else _said(refused)}"
    if refused.get("help"):
        yield "", f"{by}{quoted(str(refused['help']))}" if is_theirs else str(refused["help"])
    details: Result = refused.get("details") or {}
    for slot in details.get("alternatives", ()):
        yield "  ", f"free: {slot['start']}"
    contact: Result = details.get("contact") or {}
    for way in contact.values():
        yield "  ", f"without an agent: {way}"


def _said(refused: Result) -> str:
    """A refusal in its own words; what was typed in a form that is none is told with one that is."""
    message = str(refused.get("message", "It did not work."))
    if refused.get("code") != "schema_invalid":
        return message
    member = str(refused.get("place", "$")).rpartition(".")[2]
    return _FORMS.get(member, f"{member.replace('_', ' ')}: {message}")


_MOMENT = "Write a time like 2026-10-15T13:00 (the host's own), or with an offset."
_FORMS = {
    "earliest_start": _MOMENT,
    "latest_start": _MOMENT,
    "start": _MOMENT,
    "principal": "A PRINCIPAL is urn:schcp:principal:jwk-thumbprint:..., as their own `sayso keyapp show` prints it.",
    "answer_within": "Write how long they have like PT2H, or P1D for a day.",
    "amount": "Write an amount like 100, or '100 CAD'.",
    "currency": "Write a currency like CAD.",
    "booking_id": "A booking is named like b_x7k2..., as `sayso guest show` lists it.",
    "hold_id": "A hold is named like h_x7k2..., as `sayso guest hold` printed it.",
    "service_id": "A service is named as `sayso guest discover HOST` lists it.",
}


def _hosts(result: Result) -> Iterator[Line]:
    for host in result["hosts"]:
        yield "", f"{host['identity']}: {host['host']}"
        for service in host["services"]:
            price = f", {service['price_in_words']}" if "price_in_words" in service else ""
            yield "  ", f"{service['service_id']}: {named(service['title'])}, {service['takes']}{price}"
            if "choose_from" in service:
                yield "    ", f"with {', '.join(named(each) for each in service['choose_from'])}"
        for fact in ("confirmation", "reconfirming", "approval", "cancelling", "records", "notes"):
            if fact in host:
                yield "  ", host[fact]
        yield "  ", f"Bookable {host['bookable_for']}; it is {host['local_time_now']} there."
        for way in host["without_an_agent"].values():
            if way:
                yield "  ", f"without an agent: {way}"
    for each in result.get("could_not_be_read", ()):
        yield "", f"could not be read: {each}"
    if "note" in result:
        yield "", result["note"]


def _slots(result: Result) -> Iterator[Line]:
    count = result["free"]
    times = "1 free time" if count == 1 else f"{count or 'No'} free times"
    yield "", f"{times} for {named(result['service'])}, {result['window']}"
    for slot in result["slots"]:
        total = slot.get("total")
        price = f"  {total['currency']} {total['amount']} in total" if total else ""
        yield "  ", f"{slot['start']}{price}"
    if "more_from" in result:
        yield "", f"There are more from {result['more_from']} on."
    if count:
        yield "", "Nothing is reserved yet: sayso guest hold HOST SERVICE START keeps one."


def _held(result: Result) -> Iterator[Line]:
    yield "", f"Held until {result['held_until']}."
    for difference in result["differs_from_request"]:
        yield "", difference
    yield from _terms(result)
    yield "", f"Book it: sayso guest confirm {result['hold_id']}"


def _terms(result: Result) -> Iterator[Line]:
    yield "  ", f"{result['what']}, {result['when']}"
    if "price" in result:
        yield "  ", result["price"]


def _booking(result: Result) -> Iterator[Line]:
    yield "", f"{str(result['outcome']).capitalize()}: {result['booking_id']}"
    yield from _terms(result)
    yield "  ", f"You signed {result['user_signed']}."
    for person in result.get("participants", ()):
        yield "  ", person
    for fact in _FACTS:
        if fact in result:
            yield "  ", result[fact]
    for slot in result.get("free_instead", ()):
        yield "  ", f"free: {slot['start']}"


def _invitation(result: Result) -> Iterator[Line]:
    said = {"read": "You are asked along", "accepted": "You accepted", "declined": "You declined"}
    yield "", f"{said[str(result['outcome'])]}: {result['booking_id']}, {result['status']}"
    yield from _terms(result)
    for person in result["participants"]:
        yield "  ", person
    if result["outcome"] == "read" and "answer_by" in result:
        how = f"sayso guest answer {result['host']} {result['booking_id']} yes"
        silence = result.get("no_answer_counts_as")
        counts = f"; no answer counts as {silence}" if silence else ""
        yield "  ", f"Answer by {result['answer_by']}{counts}: {how}"


_FACTS = (
    "answered",
    "waits",
    "reconfirm",
    "proposed",
    "called_off",
    "move_declined",
    "records",
    "cancelling",
    "note",
    "warning",
)


def _bookings(result: Result) -> Iterator[Line]:
    for booking in result["bookings"]:
        yield from _booking(booking)
    if not result["bookings"]:
        yield "", "No bookings yet."


def _entry(result: Result) -> Iterator[Line]:
    yield "", f"{str(result['outcome']).capitalize()}: {result['entry_id']}"
    yield "  ", f"{result['what']}, {result['window']}"
    if "waits_until" in result:
        yield "  ", f"Waits until {result['waits_until']} at the latest."
    for fact in ("note", "warning"):
        if fact in result:
            yield "  ", result[fact]
    if "offered" in result:
        yield from _held(result["offered"])


def _entries(result: Result) -> Iterator[Line]:
    for entry in result["entries"]:
        yield from _entry(entry)
    if not result["entries"]:
        yield "", "You wait for nothing."


_WORDS = {
    "discover_host": _hosts,
    "find_slots": _slots,
    "hold_slot": _held,
    "approve_and_book": _booking,
    "change_booking": _booking,
    "cancel_booking": _booking,
    "reconfirm_booking": _booking,
    "booking_status": _bookings,
    "join_waitlist": _entry,
    "leave_waitlist": _entry,
    "waitlist_status": _entries,
    "answer_invitation": _invitation,
}
