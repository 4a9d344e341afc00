"""What a run says: text and reasoning as they come, and the final response that settles what was said."""

from __future__ import annotations

from sayso.apps.tui.view.blocks import TextBlock, ThoughtBlock
from sayso.apps.tui.view.calls import ask_call, end_call_by_part
from sayso.apps.tui.view.clean import clean
from sayso.apps.tui.view.page import Page
from sayso.apps.tui.view.spoken import Telling
from sayso.control.protocol.payloads.content import (
    ContentPart,
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    text_of,
)
from sayso.control.protocol.payloads.scalars import UNSET, Maybe

__all__ = ("act", "close", "mark_gap", "say", "settle")

MISSED = "\n\n[…]\n\n"
_PICTURE = "\n\n[a picture]\n\n"


def say(page: Page, telling: Telling, part: ContentPart, message_id: Maybe[str], at_ms: int | None) -> None:
    """One delta."""
    if message_id is not UNSET and message_id != telling.message_id:
        close(page, telling, at_ms)
        telling.message_id = message_id
    match part:
        case TextPart(text=text):
            _write(page, telling, text, at_ms)
        case ImagePart():
            _write(page, telling, _PICTURE, at_ms)
        case ReasoningPart(reasoning=text):
            _think(page, telling, text, at_ms)
        case ToolCallPart(tool_call_id=call_id, name=name, arguments_json=arguments):
            act(page, telling, at_ms)
            ask_call(page, telling.calls, call_id, telling.run_id, name, arguments)
        case ToolResultPart(tool_call_id=call_id) as part:
            end_call_by_part(page, telling.calls.get(call_id), part)


def close(page: Page, telling: Telling, at_ms: int | None) -> None:
    """What was being written is finished."""
    if telling.writing is not None:
        telling.writing.writing.finish()
        telling.writing.done = True
    if telling.thinking is not None:
        telling.thinking.writing.finish()
        telling.thinking.done = True
        telling.thinking.ended_ms = at_ms
    page.touch(telling.writing, telling.thinking)
    telling.writing = telling.thinking = None


def act(page: Page, telling: Telling, at_ms: int | None) -> None:
    """Something other than words is told: later words stand behind it."""
    close(page, telling, at_ms)
    if not telling.is_calling:
        telling.turns += 1
    telling.has_acted = telling.is_calling = True


def mark_gap(page: Page, telling: Telling) -> None:
    """Events were missed: words may be lacking here, until the final response has them."""
    if telling.writing is not None:
        telling.writing.writing.add(MISSED)
        page.touch(telling.writing)


def settle(page: Page, telling: Telling, final: Message, at_ms: int | None) -> None:
    """The final response replaces what was streamed of it, and stands for what was not."""
    said = clean(text_of(final.content))
    close(page, telling, at_ms)
    if not said.strip():
        return
    last = telling.texts[-1] if telling.texts and not telling.has_acted else None
    if last is None:
        if not _is_told(telling.texts, said):
            _add_text(page, telling, said)
    elif last.text.strip() != said.strip() and not _is_told(telling.texts, said):
        last.writing.replace(said)
        page.touch(last)


def _write(page: Page, telling: Telling, text: str, at_ms: int | None) -> None:
    if telling.thinking is not None:
        close(page, telling, at_ms)
    if telling.writing is None:
        if not text.strip() and not telling.texts:
            return
        telling.writing = page.add(TextBlock(index=0, run_id=telling.run_id))
        telling.texts.append(telling.writing)
        telling.has_acted = telling.is_calling = False
    telling.writing.writing.add(text)
    page.touch(telling.writing)


def _think(page: Page, telling: Telling, text: str, at_ms: int | None) -> None:
    if telling.writing is not None:
        close(page, telling, at_ms)
    if telling.thinking is None:
        telling.thinking = page.add(ThoughtBlock(index=0, run_id=telling.run_id, started_ms=at_ms))
        telling.is_calling = False
    telling.thinking.writing.add(text)
    page.touch(telling.thinking)


def _add_text(page: Page, telling: Telling, text: str) -> None:
    block = page.add(TextBlock(index=0, run_id=telling.run_id, done=True))
    block.writing.replace(text)
    telling.texts.append(block)


def _is_told(texts: list[TextBlock], said: str) -> bool:
    """Whether the run's texts put together are the final response: some loops answer with all they said."""
    return _bare("".join(each.text for each in texts)) == _bare(said)


def _bare(text: str) -> str:
    return "".join(text.split())
