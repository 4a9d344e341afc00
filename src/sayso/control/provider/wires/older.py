"""What a model that is older, or plainer, than its vendor's newest is asked in another way.

One wire serves all of a vendor's models, and no listing says which of them take what. So a model is asked the newest
way; where its vendor says no to just that, it is asked once more, and ever after, in the way that came before. What
was asked for stays the same: nothing is left out that a caller named.
"""

from __future__ import annotations

from dataclasses import replace

from sayso.control.provider.wires.asking import Ask
from sayso.control.provider.wires.faults import Failure
from sayso.control.provider.wires.offering import Offering

__all__ = ("other_way",)

_TOLD_TO_THINK = ("anthropic-messages", "google-generate-content")


def other_way(offering: Offering, ask: Ask, failure: Failure) -> Offering | None:
    """The offering as its vendor seems to want it asked; None where its no is about something else.

    Reasoning as a level: Anthropic before Opus 4.6 and Gemini before 3 take a number of tokens. Encrypted reasoning:
    OpenAI's models that do not reason refuse to be asked for it.
    """
    if failure.status != 400 or failure.code != "invalid_request":
        return None
    said = failure.message.lower()
    if offering.wire == "openai-responses" and offering.keeps_thoughts and "encrypted content" in said:
        return replace(offering, keeps_thoughts=False)
    is_told = offering.wire in _TOLD_TO_THINK and offering.thinking == "effort" and ask.level is not None
    if is_told and ("thinking" in said or "effort" in said):
        return replace(offering, thinking="budget")
    return None
