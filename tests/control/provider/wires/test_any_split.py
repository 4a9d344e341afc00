"""Any byte split of any fixture stream gives the same parts (B16, B17), and no bytes break more than an inference."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.control.provider.wires.wire import WIRES
from sayso.core.frames import SseDecoder
from sayso.core.refusal import Refused
from sayso.testing.provider import Call, Say, Think
from sayso.testing.vendor_servers import VENDORS, Said
from sayso.testing.vendor_servers.faults import bare_cr, commented, cut_at
from tests.control.provider.wires.bench import ALL

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12) | st.sampled_from(
    ["data: ", "\u2028", "\r\n\r\n", "[DONE]", "żółw 🐢"]
)
VALUES = st.dictionaries(TEXT, TEXT | st.integers(-5, 5) | st.lists(TEXT, max_size=2), max_size=3)
STEPS = st.lists(
    st.builds(Think, TEXT, TEXT) | st.builds(lambda each: Say(*each), st.lists(TEXT, max_size=3))
    | st.builds(Call, st.just("look"), VALUES), max_size=4,
)  # fmt: skip
TURNS = st.builds(Said, STEPS, st.sampled_from(["stop", "length", "filter"]), st.none() | st.just((3, 4)))


def reduce(wire: Any, chunks: list[bytes]) -> tuple[list[Any], object]:
    """The part events, and how it concluded: its stop reason and figures, or the refusal."""
    count = iter(range(99))
    reducer = WIRES[wire].reducer(lambda given: given or f"call_{next(count)}")
    decoder, events = SseDecoder(), []
    try:
        for chunk in chunks:
            for event in decoder.feed(chunk):
                if not reducer.is_over:
                    events += reducer.feed(event)
        concluded = reducer.conclude()
    except Refused as refused:
        return events, refused.refusal
    return events + concluded.events, (concluded.stop_reason, reducer.usage)


@settings(max_examples=60, deadline=None)
@given(
    turn=TURNS,
    places=st.lists(st.integers(0, 10_000), max_size=12),
    form=st.sampled_from([list, bare_cr, commented]),
    is_crlf=st.booleans(),
    cut_short=st.integers(0, 3),
)
@pytest.mark.parametrize("wire", ALL)
@pytest.mark.req("OAP-133", "OAP-131")
def test_b16_b17_any_split_of_any_stream_gives_the_same_parts(
    wire: str, turn: Said, places: list[int], form: Any, is_crlf: bool, cut_short: int
) -> None:
    """Whole or cut short, whatever ends its lines."""
    plain = VENDORS[wire].stream(turn)
    frames = form(plain[: len(plain) - cut_short])
    if is_crlf and form is not bare_cr:
        frames = [frame.replace(b"\n", b"\r\n") for frame in frames]
    whole = reduce(wire, [b"".join(frames)])
    assert reduce(wire, cut_at(frames, places)) == whole
    assert whole == reduce(wire, plain[: len(plain) - cut_short])


@settings(max_examples=150, deadline=None)
@given(garbage=st.lists(st.binary(max_size=40) | st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "choices", "delta", "tool_calls", "function", "index", "id", "error", "usage", "item",
                         "content_block", "candidates", "content", "parts", "functionCall", "response", "arguments"]),
        inner, max_size=4), max_leaves=12), max_size=4))  # fmt: skip
@pytest.mark.parametrize("wire", ALL)
@pytest.mark.req("OAP-133")
def test_whatever_a_vendor_sends_ends_in_an_answer_or_a_refusal(wire: str, garbage: list[Any]) -> None:
    """Members of any type anywhere: no other exception leaves a reducer."""
    from sayso.core import strictjson  # noqa: PLC0415 - used here alone

    frames = [each if isinstance(each, bytes) else b"data: " + strictjson.encode(each) + b"\n\n" for each in garbage]
    _, end = reduce(wire, frames)
    assert end is not None
