"""What is offered, what it costs, when it is free: answered without holding anything."""

from __future__ import annotations

import pytest

from sayso.control.provider.planner.steps import Outcome
from tests.control.provider.planner.shop import Shop, Town


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "What services do you offer?",
            "Harbour Salon offers: Beard trim (45 minutes, CAD 89.27 in total); Haircut (30 minutes, CAD 40.00 in "
            "total); Classic facial (60 minutes, CAD 70.00 in total); Deluxe facial (60 minutes, CAD 120.00 in total).",
        ),
        ("How much is a haircut?", "Haircut at Harbour Salon (30 minutes, CAD 40.00 in total)."),
        (
            "how much is a facial",
            "Classic facial at Harbour Salon (60 minutes, CAD 70.00 in total).\n"
            "Deluxe facial at Harbour Salon (60 minutes, CAD 120.00 in total).",
        ),
        (
            "Is there an opening for a haircut on Friday after 4 pm?",
            "Haircut at Harbour Salon (30 minutes, CAD 40.00 in total), free on Friday 16 October: 4:00 p.m., 4:15 "
            "p.m., 4:30 p.m., 4:45 p.m., 5:00 p.m. and 5:15 p.m.",
        ),
        (
            "when can I get a haircut?",
            "Haircut at Harbour Salon (30 minutes, CAD 40.00 in total), free: Tuesday 13 October at 5:00 p.m., "
            "Tuesday 13 October at 5:15 p.m., Wednesday 14 October at 8:00 a.m., Wednesday 14 October at 8:15 a.m., "
            "Wednesday 14 October at 8:30 a.m., Wednesday 14 October at 8:45 a.m., Wednesday 14 October at 9:00 a.m. "
            "and Wednesday 14 October at 9:15 a.m., and 488 more.",
        ),
    ],
)
def test_questions_about_the_offer_are_answered(words: str, said: str) -> None:
    """And nothing is held, booked or asked to be signed."""
    busy = {f"2026-10-13T{h:02d}:{m:02d}" for h in range(17) for m in (0, 15, 30, 45)}
    town = Town([Shop(busy=busy)])
    assert (town.say(words), town.last.outcome) == (said, Outcome.DONE)
    assert town.made("hold_slot", "approve_and_book") == []


def test_an_unknown_service_is_said() -> None:
    """With what there is."""
    said = Town().say("How much is a massage?")
    assert said == "Nobody I know offers “massage”. There is: Beard trim, Haircut, Classic facial or Deluxe facial?"
