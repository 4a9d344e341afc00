"""The three machines: every pair of state and command, compared with the tables."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import get_args

import pytest

from sayso.core.refusal import Misuse, Refused
from sayso.scheduling.rules import booking, change, hold
from sayso.scheduling.rules.booking import BookingState
from sayso.scheduling.rules.change import ChangeState
from sayso.scheduling.rules.hold import HoldState

START = datetime(2026, 10, 15, 17, 0, tzinfo=UTC)
END = START + timedelta(minutes=45)
EXPIRY = datetime(2026, 10, 13, 13, 5, tzinfo=UTC)
TICK = timedelta(microseconds=1)


def make(command):
    when = START + timedelta(days=1), END + timedelta(days=1)
    given = {booking.Move: when, booking.MoveAndAsk: (*when, START), booking.AskHost: (START,)}
    return command(*given.get(command, ()))


def reachable(table, born):
    found, fresh = set(born), list(born)
    while fresh:
        for target in table[fresh.pop()].values():
            if target not in found:
                found.add(target)
                fresh.append(target)
    return found


@pytest.mark.req("SCH-198", "SCH-199", "SCH-200", "SCH-201", "SCH-202")
@pytest.mark.parametrize(
    ("machine", "states", "born"),
    [
        (hold, HoldState, {HoldState.HELD}),
        (change, ChangeState, {ChangeState.OFFERED}),
        (booking, BookingState, booking.BIRTH),
    ],
)
def test_tables_are_complete(machine, states, born):
    """Every state has a row and a coupling, every command is used, every state can be reached."""
    assert set(machine.TABLE) == set(states) == set(machine.COUPLED)
    assert {command for row in machine.TABLE.values() for command in row} == set(get_args(machine.Command))
    assert reachable(machine.TABLE, born) == set(states)


@pytest.mark.req("SCH-199")
@pytest.mark.parametrize(("state", "command"), list(product(HoldState, get_args(hold.Command))))
def test_every_hold_pair(state, command):
    """A pair of the table moves once and one version on; any other is refused by the state's own reason."""
    before = hold.Hold(state, 3, EXPIRY)
    now = EXPIRY if command is hold.Lapse else EXPIRY - TICK
    target = hold.TABLE[state].get(command)
    if target is None:
        with pytest.raises(Refused) as refused:
            hold.step(before, command(), now)
        assert refused.value.refusal.reason == f"hold_{state.value}"
    else:
        assert hold.step(before, command(), now) == hold.Hold(target, 4, EXPIRY)


@pytest.mark.req("SCH-123")
@pytest.mark.parametrize("command", [hold.Confirm, hold.Release])
def test_at_its_very_expiry_a_hold_is_over(command):
    """The instant `expires_at` belongs to the expiry, whoever has or has not marked the hold."""
    held = hold.Hold(HoldState.HELD, 1, EXPIRY)
    with pytest.raises(Refused) as refused:
        hold.step(held, command(), EXPIRY)
    assert (refused.value.refusal.reason, hold.is_good(held, EXPIRY)) == ("hold_expired", False)
    assert hold.is_good(held, EXPIRY - TICK)


def test_lapsing_early_is_a_bug_of_ours():
    """A hold and a change offer lapse at their expiry, a booking at its deadline or end; never before."""
    with pytest.raises(Misuse):
        hold.step(hold.Hold(HoldState.HELD, 1, EXPIRY), hold.Lapse(), EXPIRY - TICK)
    with pytest.raises(Misuse):
        change.step(change.ChangeOffer(ChangeState.OFFERED, 1, EXPIRY), change.Lapse(), EXPIRY - TICK)
    waiting = booking.Standing(BookingState.PENDING_HOST, 0, 1, START, END, answer_by=EXPIRY)
    silent = replace(waiting, state=BookingState.CONFIRMED, reconfirm_by=EXPIRY)
    with pytest.raises(Misuse):
        booking.step(silent, booking.LapseUnreconfirmed(), EXPIRY - TICK)
    for command, now in ((booking.Lapse(), EXPIRY - TICK), (booking.Complete(), END - TICK)):
        with pytest.raises(Misuse):
            booking.step(replace(waiting, state=BookingState.CONFIRMED) if now > START else waiting, command, now)


CHANGE_REASONS = {
    ChangeState.OFFERED: "nothing_to_answer",
    ChangeState.AWAITING: "move_awaits_host",
    ChangeState.DECLINED: "offer_dropped",
    ChangeState.MADE: "not_changeable",
    ChangeState.DROPPED: "offer_dropped",
    ChangeState.LAPSED: "offer_expired",
}


@pytest.mark.req("SCH-231")
@pytest.mark.parametrize(("state", "command"), list(product(ChangeState, get_args(change.Command))))
def test_every_change_pair(state, command):
    """As with holds: what the table does not list is refused and nothing changes."""
    before = change.ChangeOffer(state, 3, EXPIRY)
    now = EXPIRY if command is change.Lapse else EXPIRY - TICK
    target = change.TABLE[state].get(command)
    if target is None:
        with pytest.raises(Refused) as refused:
            change.step(before, command(), now)
        assert refused.value.refusal.reason == CHANGE_REASONS[state]
    else:
        assert change.step(before, command(), now) == change.ChangeOffer(target, 4, EXPIRY)


@pytest.mark.req("SCH-123")
def test_at_its_very_expiry_a_change_offer_is_over():
    """Accepting at `expires_at` is too late."""
    with pytest.raises(Refused) as refused:
        change.step(change.ChangeOffer(ChangeState.OFFERED, 1, EXPIRY), change.Accept(), EXPIRY)
    assert refused.value.refusal.reason == "offer_expired"


WHEN = {
    booking.Complete: END,
    booking.MarkNoShow: END,
    booking.MarkAttended: END,
    booking.TakeMarkBack: END,
    booking.End: START,
}


@pytest.mark.req("SCH-198", "SCH-200", "SCH-201", "SCH-202", "SCH-205", "SCH-209")
@pytest.mark.parametrize(("state", "command"), list(product(BookingState, get_args(booking.Command))))
def test_every_booking_pair(state, command):
    """A pair of the table changes state and version, a move alone the sequence and the time; the rest is refused."""
    before = booking.Standing(
        state, 2, 5, START, END, open_end=command is booking.End, answer_by=EXPIRY, reconfirm_by=EXPIRY
    )
    now = WHEN.get(command, EXPIRY)
    target = booking.TABLE[state].get(command)
    if target is None:
        with pytest.raises(Refused):
            booking.step(before, make(command), now)
        return
    expected = replace(before, state=target, version=6)
    if command in (booking.Move, booking.MoveAndAsk):
        expected = replace(expected, sequence=3, start=START + timedelta(days=1), until=END + timedelta(days=1))
    if command in (booking.MoveAndAsk, booking.AskHost):
        expected = replace(expected, answer_by=START)
    assert booking.step(before, make(command), now) == expected


@pytest.mark.req("SCH-213", "SCH-219")
@pytest.mark.parametrize("command", [booking.Cancel, booking.Move])
def test_cancelling_and_moving_end_with_the_start(command):
    """Free until the very start, and refused from then on."""
    before = booking.Standing(BookingState.CONFIRMED, 0, 1, START, END)
    booking.step(before, make(command), START - TICK)
    with pytest.raises(Refused) as refused:
        booking.step(before, make(command), START)
    assert refused.value.refusal.reason == "already_started"


@pytest.mark.req("SCH-212")
def test_a_mark_can_be_taken_back_for_a_week():
    """Seven days after the end to the microsecond, and no longer."""
    marked = booking.Standing(BookingState.NO_SHOW, 0, 2, START, END)
    last = END + timedelta(days=7)
    assert booking.step(marked, booking.TakeMarkBack(), last).state is BookingState.COMPLETED
    with pytest.raises(Refused):
        booking.step(marked, booking.TakeMarkBack(), last + TICK)


@pytest.mark.req("SCH-256")
def test_only_a_booking_without_an_agreed_end_is_ended_and_not_ahead_of_time():
    """A fixed one has its end already; an open one begins first."""
    fixed = booking.Standing(BookingState.CONFIRMED, 0, 1, START, END)
    for before, now in ((fixed, START), (replace(fixed, open_end=True), START - TICK)):
        with pytest.raises(Refused):
            booking.step(before, booking.End(), now)


def test_a_cancelled_booking_says_so_and_one_that_is_over_says_that():
    """The reason tells the agent what became of the booking."""
    reasons = {}
    for state in (BookingState.CANCELLED, BookingState.COMPLETED, BookingState.NO_SHOW, BookingState.DECLINED):
        with pytest.raises(Refused) as refused:
            booking.step(booking.Standing(state, 0, 1, START, END), booking.Cancel(), EXPIRY)
        reasons[state.value] = refused.value.refusal.reason
    assert reasons == {
        "cancelled": "already_cancelled",
        "completed": "already_started",
        "no_show": "already_started",
        "declined": "not_changeable",
    }
