"""A piece of history written down as one text, for a model that summarises it; pure.

Who said it stands before what was said. Pictures, the model's own thoughts and vendors' tokens are named or left out,
never written: the reader may be another model than the one they were for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sayso.control.loop.conversations import is_summary
from sayso.control.protocol.payloads.content import (
    ContentPart,
    ImagePart,
    Message,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from sayso.core import strictjson

__all__ = ("record_of",)

_LIMITS = (4000, 1000, 200)
"""Characters of a call's arguments or its result, in the order they are tried until the record fits."""
_ADDRESS = 200


def record_of(messages: Sequence[Message], room: int, size: Callable[[str], int]) -> str:
    """The record, of at most `room` by `size`, which counts a text's tokens and grows with it. Where shortening calls
    and results is not enough, the middle goes.
    """
    text = ""
    for limit in _LIMITS:
        text = "\n\n".join(piece for message in messages for piece in _pieces(message, limit))
        if size(text) <= room:
            return text
    kept = len(text) * room // size(text)
    while kept and size(text := _shortened(text, kept)) > room:
        kept //= 2
    return text


def _pieces(message: Message, limit: int) -> Iterator[str]:
    who = "an earlier summary" if is_summary(message) else message.role
    if isinstance(message.content, str):
        yield f"[{who}]\n{message.content}"
        return
    for part in message.content:
        if words := _words(part, who, limit):
            yield words


def _words(part: ContentPart, who: str, limit: int) -> str | None:
    match part:
        case TextPart(text=text):
            return f"[{who}]\n{text}"
        case ImagePart(image=image):
            return f"[{who} showed a picture: {(image.url or image.media_type or '')[:_ADDRESS]}]"
        case ToolCallPart(name=name, tool_call_id=call, arguments_json=arguments):
            return f"[{who} called {name} as {call}]\n{_shortened(_text(arguments), limit)}"
        case ToolResultPart(tool_call_id=call, result=result, is_error=is_error):
            what = "failed with" if is_error else "returned"
            return f"[{call} {what}]\n{_shortened(_text(result), limit)}"
        case _:
            return None


def _text(value: object) -> str:
    return value if isinstance(value, str) else strictjson.encode(value).decode()


def _shortened(text: str, limit: int) -> str:
    """A text of about `limit` characters: its beginning and its end, and how much is missing between."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]}\n[{len(text) - head - tail} characters left out]\n{text[len(text) - tail :]}"
