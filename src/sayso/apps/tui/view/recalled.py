"""A saved conversation's messages, as blocks."""

from __future__ import annotations

from sayso.apps.tui.view.blocks import CallBlock, SaidBlock, TextBlock, ThoughtBlock
from sayso.apps.tui.view.calls import ask_call, end_call_by_part
from sayso.apps.tui.view.clean import clean
from sayso.apps.tui.view.page import Page
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

__all__ = ("Recalled",)


class Recalled:
    """Puts saved messages on a page. What was told to the model alone (system, developer) is not shown."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._calls: dict[str, CallBlock] = {}

    def recall(self, message: Message) -> None:
        """One message."""
        if message.role in ("system", "developer"):
            return
        if message.role == "user" and (text := text_of(message.content)):
            self._page.add(SaidBlock(index=0, text=clean(text)))
            return
        for part in (TextPart(text=message.content),) if isinstance(message.content, str) else message.content:
            self._part(part)

    def _part(self, part: ContentPart) -> None:
        match part:
            case TextPart(text=text) if text.strip():
                self._page.add(TextBlock(index=0, done=True)).writing.replace(text)
            case ReasoningPart(reasoning=text) if text.strip():
                self._page.add(ThoughtBlock(index=0, done=True)).writing.replace(text)
            case ToolCallPart(tool_call_id=call_id, name=name, arguments_json=arguments):
                ask_call(self._page, self._calls, call_id, None, name, arguments)
            case ToolResultPart(tool_call_id=call_id) as result:
                end_call_by_part(self._page, self._calls.get(call_id), result)
            case ImagePart() | TextPart() | ReasoningPart():
                pass
