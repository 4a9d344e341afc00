"""The journal: one order over all runs, found again by run and sequence, bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.hub.journal import Entry, Journal
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.run import RunStarted

STARTED = Envelope(type="run.started", id="e", payload=RunStarted(session_id="s", run_id="r", status="running"))


def fill(runs: list[str], capacity: int) -> tuple[Journal, list[tuple[str, int]]]:
    """A journal told these runs' next events in turn, and all that was told."""
    journal, told = Journal(capacity), []
    for run in runs:
        told.append((run, sum(name == run for name, _ in told) + 1))
        journal.append(Entry(*told[-1], STARTED, b"{}"))
    return journal, told


@pytest.mark.req("OAP-042", "OAP-093", "OAP-094")
@given(st.lists(st.sampled_from("abc"), max_size=40), st.integers(1, 12))
def test_what_is_kept_is_the_latest_and_is_found_by_run_and_number(runs: list[str], capacity: int) -> None:
    """Whatever is kept is found where it stands; what went is known to be gone."""
    journal, told = fill(runs, capacity)
    kept = told[-capacity:]
    assert [(e.run_id, e.sequence) for e in journal.read(journal.start, len(told) + 1)] == kept
    assert (journal.start, journal.end) == (len(told) - len(kept), len(told))
    for run in "abc":
        numbers = [number for name, number in kept if name == run]
        everything = [number for name, number in told if name == run]
        found = journal.kept(run)
        assert found.latest == (everything[-1] if everything else 0)
        assert found.oldest == (numbers[0] if numbers else found.latest + 1)
        for number in numbers:
            index = journal.index_after(run, number - 1)
            assert [(e.run_id, e.sequence) for e in journal.read(index, 1)] == [(run, number)]
        assert journal.index_after(run, found.latest) == journal.end
