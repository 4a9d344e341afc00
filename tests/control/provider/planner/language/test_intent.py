"""What people want, where cues meet."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from sayso.control.provider.planner.language.understand import understand

ZONE = ZoneInfo("America/Toronto")
NOW = datetime(2026, 10, 13, 13, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("change the filter in my furnace thursday at 1 pm", "book"),
        ("book my winter tire change for early november", "book"),
        ("swap my winter tires on friday at 10 am", "book"),
        ("change my appointment to friday", "move"),
        ("i need to switch my appointment", "move"),
        ("can i get my appointment moved to friday", "move"),
        ("cancel my appointment and rebook it for friday", "move"),
        ("what about moving my trim to friday?", "move"),
        ("is my appointment cancelled?", "status"),
        ("did you cancel my appointment?", "status"),
        ("was my appointment moved?", "status"),
        ("am i still on for friday?", "status"),
        ("check whether my trim went through", "status"),
        ("please don't cancel my appointment", "unknown"),
        ("drop my appointment on friday", "cancel"),
        ("drop off my car on friday at 9 am for a wash", "book"),
        ("i can no longer make my 2:30 on friday", "cancel"),
        ("take me off the schedule for friday", "cancel"),
        ("do you have a slot on friday? then book me a trim", "book"),
        ("when can i get a trim", "discover"),
        ("when is my trim", "status"),
        ("what is your cancellation policy", "discover"),
        ("is friday at 2 pm free for a trim?", "discover"),
        ("trim tomorrow 3pm", "book"),
        ("remind me to call home tomorrow", "unknown"),
        ("i have a question", "unknown"),
    ],
)
def test_cues_that_meet_are_decided(text: str, intent: str) -> None:
    """Verbs that may belong to a service's name do not decide alone."""
    assert understand(text, NOW, ZONE).intent.value == intent
