"""Lines and events come out the same however the bytes were cut, and nothing but the wire's own marks cuts them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.frames import LineFramer, LineTooLong, SseDecoder, SseEvent, write_sse
from sayso.core.refusal import Misuse, Refused


@st.composite
def cut(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """The same bytes in chunks, some of them empty."""
    places = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]


def lines_of(chunks: list[bytes], limit: int) -> tuple[list[bytes], str | bytes]:
    """All lines, and how it ended: the rest after the last LF, or the code of the refusal."""
    framer, lines = LineFramer(limit), []
    try:
        for chunk in chunks:
            lines += framer.feed(chunk)
        return lines, framer.close()
    except LineTooLong as fault:
        return lines + fault.lines, fault.refusal.code


def events_of(chunks: list[bytes]) -> list[SseEvent]:
    decoder = SseDecoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)]


awkward = st.lists(
    st.sampled_from(
        [b"a", b"\n", b"\r", b"\r\n", "\u2028".encode(), "\x85".encode(), b"\x0b", b"\x1c", b"bb", "한".encode()]
    )
).map(b"".join)


@given(st.data(), awkward, st.integers(1, 6))
def test_lines_do_not_depend_on_how_bytes_were_cut(data: st.DataObject, stream: bytes, limit: int) -> None:
    """The same lines, the same rest and the same fault for every chunking."""
    assert lines_of(data.draw(cut(stream)), limit) == lines_of([stream], limit)


@given(awkward)
def test_only_a_line_feed_ends_a_line(stream: bytes) -> None:
    """Not CR, not U+2028, not U+0085, not a form feed."""
    lines, rest = lines_of([stream], 10_000)
    assert isinstance(rest, bytes)
    assert b"".join(line + b"\n" for line in lines) + rest == stream
    assert not any(b"\n" in line for line in lines)


def test_a_line_of_exactly_the_bound_passes_and_the_count_starts_anew() -> None:
    """The bound is per line: many lines at the bound are no fault."""
    assert lines_of([b"12345\n" * 1000, b"12345"], 5) == ([b"12345"] * 1000, b"12345")
    assert lines_of([b"123", b"45\n"] * 1000, 5) == ([b"12345"] * 1000, b"")


def test_a_whole_line_over_the_bound_is_refused_with_its_real_size() -> None:
    """The lines before it in the chunk are not lost, and the framer is dead for good."""
    framer = LineFramer(5)
    assert framer.feed(b"one\n12") == [b"one"]
    with pytest.raises(LineTooLong) as caught:
        framer.feed(b"345\ntwo\n123456789\nthree\n")
    assert caught.value.lines == [b"12345", b"two"]
    assert caught.value.refusal.details == {"size": 9, "bound": 5, "is_whole": True}
    assert str(caught.value.refusal) == "a line of 9 bytes is over the bound of 5."
    for call in (lambda: framer.feed(b"four\n"), framer.close):
        with pytest.raises(LineTooLong) as again:
            call()
        assert again.value.lines == []


def test_a_line_without_an_end_is_refused_once_it_is_over_the_bound() -> None:
    """A peer that never ends its line cannot fill the memory, and no false size is named."""
    framer = LineFramer(5)
    assert framer.feed(b"12345") == []
    with pytest.raises(LineTooLong) as caught:
        framer.feed(b"6")
    assert str(caught.value.refusal) == "a line of more than 5 bytes is over the bound of 5."


@pytest.mark.parametrize("text", ["한글 中文 日本語 😀", "a\u2028b\u2029c\x85d"])
@pytest.mark.parametrize("ending", ["\n", ""])
def test_a_character_cut_at_any_byte_stays_whole(text: str, ending: str) -> None:
    """No decoder sees half a character."""
    data = (text + ending).encode()
    whole = ([text.encode()], b"") if ending else ([], text.encode())
    for place in range(len(data) + 1):
        assert lines_of([data[:place], data[place:]], 1000) == whole


STREAM = (
    "\ufeffdata: first\r\ndata: too\r\n\r\n"
    ": a comment\n\n"
    "event: tick\rid: 7\rdata:second\rdata:  line\u2028two\r\r"
    "retry: 1500\nunknown: x\ndata\n\n"
    "event: dropped\n\n"
    "id: nul\0l\ndata: third\n\n"
    "data: unfinished\n"
).encode()
EVENTS = [
    SseEvent(b"first\ntoo"),
    SseEvent("second\n line\u2028two".encode(), "tick", "7"),
    SseEvent(b"", "message", "7"),
    SseEvent(b"third", "message", "7"),
]


@given(st.data())
def test_events_do_not_depend_on_how_bytes_were_cut(data: st.DataObject) -> None:
    """CR, LF and CRLF, a mark at the start, comments, several data lines, an id that stays, an end that never came."""
    assert events_of(data.draw(cut(STREAM))) == EVENTS


def test_events_come_out_whole_byte_by_byte() -> None:
    """The finest cut of all, through the mark and through every CRLF."""
    assert events_of([STREAM[place : place + 1] for place in range(len(STREAM))]) == EVENTS


@given(
    st.data(),
    st.lists(
        st.sampled_from([b"data", b"event", b"id", b":", b" ", b"\r", b"\n", b"\r\n", b"x", b"\xff", b"\xef\xbb\xbf"])
    ),
)
def test_any_stream_is_read_the_same_in_any_cut(data: st.DataObject, pieces: list[bytes]) -> None:
    """Also streams that nobody would write."""
    stream = b"".join(pieces)
    assert events_of(data.draw(cut(stream))) == events_of([stream])


@pytest.mark.parametrize("ending", [b"\n", b"\r", b"\r\n"])
@given(data=st.data())
def test_what_is_written_is_read_in_any_line_ending(ending: bytes, data: st.DataObject) -> None:
    """Writer and decoder are inverse, whatever a proxy made of the line ends."""
    names = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]))
    payload = st.lists(st.binary().map(lambda value: value.replace(b"\r", b"").replace(b"\n", b""))).map(b"\n".join)
    events = data.draw(st.lists(st.builds(SseEvent, payload, names.filter(bool), names.map(lambda text: text or None))))
    expected, last = [], None
    for event in events:
        last = event.id or last
        expected.append(SseEvent(event.data, event.event, last))
    stream = b"".join(map(write_sse, events)).replace(b"\n", ending)
    assert events_of(data.draw(cut(stream))) == expected


def test_a_mark_inside_the_stream_is_no_mark() -> None:
    """Only the very first bytes may be a byte order mark; a second one is part of a name nobody knows."""
    assert events_of([b"\xef\xbb", b"\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n"]) == [SseEvent(b"a")]


def test_the_asked_reconnection_time_is_kept() -> None:
    """Digits only; anything else is passed over."""
    decoder = SseDecoder()
    decoder.feed(b"retry: 2500\nretry: 1e3\nretry: -1\nretry:\n")
    assert decoder.retry == 2500


def test_an_event_over_the_bound_is_refused_and_heartbeats_are_free() -> None:
    """The bound is per event: a stream may live for ever, one event may not grow for ever."""
    decoder = SseDecoder(bound=64)
    assert [decoder.feed(b": still here\n") for _ in range(100)] == [[]] * 100
    assert decoder.feed(b"data: " + b"x" * 50 + b"\n\n") == [SseEvent(b"x" * 50)]
    for _ in range(6):
        decoder.feed(b"data: 12345678\n")
    with pytest.raises(Refused) as caught:
        decoder.feed(b"data: 12345678\n")
    assert caught.value.refusal.code == "event_too_long"
    with pytest.raises(Refused):
        SseDecoder(bound=64).feed(b":" + b"x" * 64)


@pytest.mark.parametrize(
    "event", [SseEvent(b"a\rb"), SseEvent(b"", "a\nb"), SseEvent(b"", "a", "b\r"), SseEvent(b"", "a", "b\0")]
)
def test_what_the_wire_cannot_carry_is_never_written(event: SseEvent) -> None:
    """A line end in a name would forge a field."""
    with pytest.raises(Misuse):
        write_sse(event)


def test_an_event_is_written_in_one_way() -> None:
    """The bytes, for once in full."""
    assert write_sse(SseEvent(b'{"a":1}\n2', "tick", "7")) == b'event: tick\nid: 7\ndata: {"a":1}\ndata: 2\n\n'
    assert write_sse(SseEvent(b"")) == b"data: \n\n"


def test_a_framer_without_room_is_misuse() -> None:
    """A bound of nothing lets no line through."""
    with pytest.raises(Misuse):
        LineFramer(0)
