"""Whether a vendor's no is about the length of the conversation: a shorter one may then be asked.

No vendor has a status of its own for it, and few have a name, so the words decide, of an error that is about the
request. What is about tokens per minute is a limit of another kind (`rate_limited`), and compacting does not lift it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ("TOO_LONG", "tells_of_length")

TOO_LONG = "context_too_long"
"""`details.reason` of an error whose cause is the length of the conversation: a shorter one may well be taken."""

_NAMES = frozenset(("context_length_exceeded", "exceed_context_size_error", "request_too_large"))
_WORDS = re.compile(
    "|".join(
        (
            r"(?:prompt|input|conversation) (?:is |was )?too long",  # Anthropic, Bedrock
            r"exceeds? (?:the )?context (?:limit|window|size|length)",  # Anthropic with `max_tokens`, OpenAI
            r"exceeds the (?:available|maximum|model's) (?:context|prompt|input)",  # llama.cpp
            r"input tokens? (?:count )?.{0,24}exceeds? the (?:maximum|configured)",  # Google, OpenAI
            r"maximum (?:context|prompt|input) length",  # OpenAI, OpenRouter, vLLM, DeepSeek, xAI
            r"reduce the length of (?:the|your) (?:messages|prompt|input)",  # Groq
            r"exceeded model token limit",  # Kimi
            r"prompt exceeds max length",  # Z.AI
            r"context (?:window|length|size) (?:is |was )?exceed",  # MiniMax and others
            r"greater than the context length",  # LM Studio
            r"prompt token count .{0,24}exceeds the limit",  # GitHub Copilot
            r"too large for model with \d+ maximum context",  # Mistral
            r"range of input length should be",  # Alibaba
        )
    ),
    re.IGNORECASE,
)


def tells_of_length(names: Iterable[str], said: str) -> bool:
    """By the error's names, in lower case, or by its words."""
    return not _NAMES.isdisjoint(names) or _WORDS.search(said) is not None
