from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from sayso.scheduling.rules.spans import DAY, Span, gaps, instant, length, micros, overlaps, pieces

spans = st.builds(lambda a, b: Span(min(a, b), max(a, b)), st.integers(0, 200), st.integers(0, 200))


def test_touching_spans_do_not_overlap():
    """10:00 to 11:00 and 11:00 to 12:00 do not clash, and an empty span clashes with nothing."""
    assert [overlaps(Span(0, 10), other) for other in (Span(10, 20), Span(9, 20), Span(5, 5))] == [False, True, False]


def test_instants_survive_the_way_there_and_back():
    """Microseconds are exact: no floating point in between."""
    moment = datetime(2026, 10, 15, 17, 0, 0, 123457, tzinfo=UTC)
    assert (instant(micros(moment)), length(timedelta(minutes=45))) == (moment, 45 * 60 * 1_000_000)


@given(st.integers(0, 10**16), st.integers(1, 5 * DAY))
def test_pieces_cover_a_span_exactly_and_none_is_longer_than_a_day(start, size):
    """The pieces join up to the span, so a long allocation occupies the same time as its rows."""
    cut = pieces(Span(start, start + size))
    joined = [cut[0].start, *(piece.end for piece in cut)]
    assert joined[0] == start
    assert joined[-1] == start + size
    assert [piece.start for piece in cut[1:]] == [piece.end for piece in cut[:-1]]
    assert max(piece.end - piece.start for piece in cut) <= DAY


@given(spans, st.lists(spans, max_size=6))
def test_gaps_are_exactly_the_instants_nobody_took(within, taken):
    """Compared instant by instant with the definition."""
    free = {t for gap in gaps(within, sorted(taken)) for t in range(gap.start, gap.end)}
    assert free == {t for t in range(within.start, within.end) if not any(s <= t < e for s, e in taken)}
