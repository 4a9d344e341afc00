"""The acts of scheduling as governance knows them: class, words for a language model, and the operation behind each.

Spec section 16.1; the names are the design's (SCH-343, SCH-351). Disclosures run at once; executions touch another
party and need the person's signature. Each can be called again after a crash and has its effect once.
"""

from __future__ import annotations

from sayso.governance.acts import Act, ActClass, Registry, Repeats
from sayso.scheduling.tools.arguments import (
    AnswerInvitation,
    ApproveAndBook,
    BookingStatus,
    CancelBooking,
    ChangeBooking,
    DiscoverHost,
    FindSlots,
    HoldSlot,
    JoinWaitlist,
    LeaveWaitlist,
    ReconfirmBooking,
    RequestLimits,
    WaitlistStatus,
)
from sayso.scheduling.tools.operations import Operations

__all__ = ("ACTS", "register")

DISCOVER_HOST = Act(
    name="discover_host",
    act_class=ActClass.DISCLOSURE,
    title="Look at a host",
    description=(
        "Reads what a business or a person publishes about booking their time: services with length, list price and "
        "total, time zone, whether a booking is confirmed at once, what they keep, and how to reach them without an "
        "assistant. Without `host` it shows every host this person has added. Start here: the other tools need its "
        "`host` and `service_id`, and `local_time_now` tells what `tomorrow` means there."
    ),
    arguments=DiscoverHost,
    touches_others=False,
)
FIND_SLOTS = Act(
    name="find_slots",
    act_class=ActClass.DISCLOSURE,
    title="Find free times",
    description=(
        "Lists the free starts of a service in a range of start times, each with its all-in total. Give the whole "
        "range the person would accept. It reserves nothing. A time that is missing is simply not free; no reason is "
        "given."
    ),
    arguments=FindSlots,
    touches_others=False,
)
HOLD_SLOT = Act(
    name="hold_slot",
    act_class=ActClass.EXECUTION,
    title="Holding a time",
    description=(
        "Keeps one slot for a few minutes and brings the host's signed offer. The person is first asked to sign the "
        "limits (service, range of times, ceiling), unless limits they signed already cover it. Give `max_price` "
        "only as the person said it, and `asked_start` when they named a time. Tell the person what stands in "
        "`differs_from_request`."
    ),
    arguments=HoldSlot,
    touches_others=True,
    repeats=Repeats.IDEMPOTENT,
)
APPROVE_AND_BOOK = Act(
    name="approve_and_book",
    act_class=ActClass.EXECUTION,
    title="Booking the held time",
    description=(
        "Books a held slot. The person is asked, in the offer's own words, to approve it, and afterwards whether you "
        "may cancel or move the booking for them. `user_signed` tells what they signed. A no gives the time back and "
        "books nothing. Calling it again after an interruption goes on and never books twice. A `note` goes to the "
        "host word for word; send one only if the person dictated it and discover_host says that notes are accepted."
    ),
    arguments=ApproveAndBook,
    touches_others=True,
    repeats=Repeats.IDEMPOTENT,
)
CANCEL_BOOKING = Act(
    name="cancel_booking",
    act_class=ActClass.EXECUTION,
    title="Cancelling a booking",
    description=(
        "Cancels a booking. It is free at any time before the start. Use it only to call the appointment off: to "
        "move it, use change_booking. A `message` goes to the host word for word and cannot be taken back; send one "
        "only if the person dictated it, and invent nothing, no names and no reasons."
    ),
    arguments=CancelBooking,
    touches_others=True,
    repeats=Repeats.IDEMPOTENT,
)
CHANGE_BOOKING = Act(
    name="change_booking",
    act_class=ActClass.EXECUTION,
    title="Moving a booking",
    description=(
        "Moves a booking to another start found with find_slots. The host offers the new time, the person approves "
        "that offer in its own words, and the booking moves in one step; until then, and after a no, it stays as it "
        "is. Never cancel and book again to move something."
    ),
    arguments=ChangeBooking,
    touches_others=True,
    repeats=Repeats.IDEMPOTENT,
)
RECONFIRM_BOOKING = Act(
    name="reconfirm_booking",
    act_class=ActClass.EXECUTION,
    title="Reconfirming a booking",
    description=(
        "Answers a host that asks whether the person is still coming, between the two moments that `reconfirm` of "
        "booking_status names. Ask the person first: a yes is theirs to say. `decline` says that they are not coming; "
        "the booking is then cancelled, for free, and its time is given to others."
    ),
    arguments=ReconfirmBooking,
    touches_others=True,
    repeats=Repeats.IDEMPOTENT,
)
BOOKING_STATUS = Act(
    name="booking_status",
    act_class=ActClass.DISCLOSURE,
    title="Look at bookings",
    description=(
        "Shows one booking, or all of this person's, as their hosts have them now: when, where, what it costs, "
        "whether it stands, and what the person signed. Use it to answer what they have booked and to find a "
        "`booking_id`."
    ),
    arguments=BookingStatus,
    touches_others=False,
)

JOIN_WAITLIST = Act(
    name="join_waitlist",
    act_class=ActClass.EXECUTION,
    title="Joining a waitlist",
    description=(
        "Waits at a host for time to come free, where find_slots shows none in the whole range the person would "
        "accept. The person is asked to sign the limits first. Freed time is then held for them, and waitlist_status "
        "tells of it; it is not booked until approve_and_book."
    ),
    arguments=JoinWaitlist,
    touches_others=True,
    repeats=Repeats.IDEMPOTENT,
)
LEAVE_WAITLIST = Act(
    name="leave_waitlist",
    act_class=ActClass.EXECUTION,
    title="Leaving a waitlist",
    description="Gives up a place in a waitlist, and with it any time that is held for it and not yet booked.",
    arguments=LeaveWaitlist,
    touches_others=True,
    repeats=Repeats.IDEMPOTENT,
)
WAITLIST_STATUS = Act(
    name="waitlist_status",
    act_class=ActClass.DISCLOSURE,
    title="Look at waitlists",
    description=(
        "Shows one waitlist entry, or all of this person's, as their hosts have them now. Under `offered` stands the "
        "time that came free, with the hold_id for approve_and_book and how long it is held."
    ),
    arguments=WaitlistStatus,
    touches_others=False,
)
ANSWER_INVITATION = Act(
    name="answer_invitation",
    act_class=ActClass.EXECUTION,
    title="Answering an invitation",
    description=(
        "Reads an invitation to a booking that somebody else made, and carries this person's answer to it. Call it "
        "without `answer` first, tell the person what it is, and call it again with what they said. The person signs "
        "that you may read it, and each answer; a yes or a no is theirs alone and is given once."
    ),
    arguments=AnswerInvitation,
    touches_others=True,
    repeats=Repeats.IDEMPOTENT,
)
REQUEST_LIMITS = Act(
    name="request_limits",
    act_class=ActClass.EXECUTION,
    title="Asking for limits at several hosts",
    description=(
        "Asks the person to sign one limit over several hosts, for one appointment at whichever of them it comes to "
        "be. Use it only where the person would take any of them; for one host hold_slot asks by itself. Afterwards "
        "hold_slot works at each of these hosts within what was signed, and one booking uses it up."
    ),
    arguments=RequestLimits,
    touches_others=True,
    repeats=Repeats.IDEMPOTENT,
)

ACTS = (
    DISCOVER_HOST,
    FIND_SLOTS,
    HOLD_SLOT,
    APPROVE_AND_BOOK,
    CANCEL_BOOKING,
    CHANGE_BOOKING,
    RECONFIRM_BOOKING,
    BOOKING_STATUS,
    JOIN_WAITLIST,
    LEAVE_WAITLIST,
    WAITLIST_STATUS,
    ANSWER_INVITATION,
    REQUEST_LIMITS,
)
"""Every act of scheduling, in the order an assistant meets them."""


def register(registry: Registry, operations: Operations) -> None:
    """Registers each act with its operation."""
    registry.register(DISCOVER_HOST, operations.discover_host)
    registry.register(FIND_SLOTS, operations.find_slots)
    registry.register(HOLD_SLOT, operations.hold_slot)
    registry.register(APPROVE_AND_BOOK, operations.approve_and_book)
    registry.register(CANCEL_BOOKING, operations.cancel_booking)
    registry.register(CHANGE_BOOKING, operations.change_booking)
    registry.register(RECONFIRM_BOOKING, operations.reconfirm_booking)
    registry.register(BOOKING_STATUS, operations.booking_status)
    registry.register(JOIN_WAITLIST, operations.waiting.join)
    registry.register(LEAVE_WAITLIST, operations.waiting.leave)
    registry.register(WAITLIST_STATUS, operations.waiting.status)
    registry.register(ANSWER_INVITATION, operations.invitations.answer)
    registry.register(REQUEST_LIMITS, operations.sharing.request)
