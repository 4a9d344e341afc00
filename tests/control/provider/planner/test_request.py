"""Windows turned to the other half of the day, and the wish they belong to."""

from __future__ import annotations

from datetime import time

import pytest

from sayso.control.provider.planner.language.understood import TimeWindow
from sayso.control.provider.planner.request import in_half, other_half


@pytest.mark.parametrize(
    ("window", "half", "turned"),
    [
        (TimeWindow(time(15), time(15), either_half=True), "am", TimeWindow(time(3), time(3))),
        (TimeWindow(time(15), time(15), either_half=True), "pm", TimeWindow(time(15), time(15))),
        (TimeWindow(time(9), None, either_half=True), "pm", TimeWindow(time(21), None)),
        (TimeWindow(time(11), time(15), time(13), either_half=True), "am", TimeWindow(time(0), time(3), time(1))),
        (TimeWindow(time(9), time(13), time(11), either_half=True), "pm", TimeWindow(time(21), time(23, 59), time(23))),
        (TimeWindow(time(9), time(9)), "pm", TimeWindow(time(9), time(9))),
    ],
)
def test_an_open_window_is_turned_and_a_told_one_is_not(window: TimeWindow, half: str, turned: TimeWindow) -> None:
    """Around one at night begins with the day, not the day before."""
    assert in_half(window, half) == turned


def test_turning_twice_leads_back() -> None:
    """Twelve hours there, twelve hours back."""
    window = TimeWindow(time(14), time(16))
    assert other_half(other_half(window)) == window
