"""The waitlist entry machine: every pair of state and command, and the two instants that matter."""

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import get_args

import pytest

from sayso.core.refusal import Misuse, Refused
from sayso.scheduling.rules import waitlist
from sayso.scheduling.rules.waitlist import Entry, EntryState, Lapse, Offer, check_entries, step

LAST = datetime(2026, 10, 17, 14, 0, tzinfo=UTC)
TICK = timedelta(microseconds=1)


@pytest.mark.req("SCH-250")
@pytest.mark.parametrize(("state", "command"), list(product(EntryState, get_args(waitlist.Command))))
def test_every_entry_pair(state, command):
    """A pair of the table moves once and one version on; any other is a bug of the caller, who looks first."""
    before = Entry(state, 3, LAST)
    now = LAST if command is Lapse else LAST - TICK
    target = waitlist.TABLE[state].get(command)
    if target is None:
        with pytest.raises(Misuse):
            step(before, command(), now)
    else:
        assert step(before, command(), now) == Entry(target, 4, LAST)


def test_every_state_is_reached_and_the_three_ends_are_final():
    """Waiting and offered lead on; taken, left and lapsed lead nowhere."""
    assert set(waitlist.TABLE) == set(EntryState)
    reached = {target for row in waitlist.TABLE.values() for target in row.values()}
    assert reached == set(EntryState) - {EntryState.WAITING}
    ends = {EntryState.TAKEN, EntryState.LEFT, EntryState.LAPSED}
    assert {state for state, row in waitlist.TABLE.items() if not row} == ends


@pytest.mark.req("SCH-240")
def test_time_is_offered_before_the_end_of_waiting_and_not_at_it():
    """At that very instant the entry lapses, and nothing can be offered any more."""
    waiting = Entry(EntryState.WAITING, 1, LAST)
    assert step(waiting, Offer(), LAST - TICK).state is EntryState.OFFERED
    with pytest.raises(Misuse):
        step(waiting, Offer(), LAST)
    assert step(waiting, Lapse(), LAST).state is EntryState.LAPSED
    with pytest.raises(Misuse):
        step(waiting, Lapse(), LAST - TICK)


@pytest.mark.req("SCH-153")
def test_the_cap_is_the_number_itself_and_no_cap_is_no_waitlist():
    """Five may wait, the sixth may not; a host that states nothing keeps no list."""
    check_entries(4, 5)
    for used, most, why in ((5, 5, "too_many_entries"), (0, None, "no_waitlist")):
        with pytest.raises(Refused) as caught:
            check_entries(used, most)
        assert caught.value.refusal.reason == why
