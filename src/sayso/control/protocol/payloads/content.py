"""Messages, their parts, and usage (common.schema.json)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from sayso.control.protocol.payloads.scalars import UNSET, Json, JsonObject, Maybe, Natural, OpaqueId, Role, Text, Wire

__all__ = (
    "Content",
    "ContentPart",
    "Image",
    "ImagePart",
    "Message",
    "ReasoningPart",
    "TextPart",
    "ToolCallPart",
    "ToolResultPart",
    "Usage",
    "text_of",
)


class Image(Wire, frozen=True, kw_only=True):
    """A picture by address, or by its bytes in base64 with their media type; never both."""

    url: Maybe[Text] = UNSET
    data: Maybe[Text] = UNSET
    media_type: Maybe[Text] = UNSET

    def __post_init__(self) -> None:
        by_address = self.url is not UNSET
        if by_address == (self.data is not UNSET) or by_address == (self.media_type is not UNSET):
            raise ValueError("an image has either `url` or both `data` and `media_type`")


class TextPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """Plain text."""

    text: str


class ReasoningPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="reasoning"):
    """What the model thought; `carry` is the provider's opaque token that must come back unchanged."""

    reasoning: str
    carry: Maybe[str] = UNSET


class ImagePart(Wire, frozen=True, kw_only=True, tag_field="type", tag="image"):
    """A picture."""

    image: Image


class ToolCallPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="tool_call"):
    """The model asks for a tool; `arguments_json` is the parsed value, never text."""

    tool_call_id: OpaqueId
    name: Text
    arguments_json: Json
    carry: Maybe[str] = UNSET


class ToolResultPart(Wire, frozen=True, kw_only=True, tag_field="type", tag="tool_result"):
    """What became of one tool call."""

    tool_call_id: OpaqueId
    result: Json
    is_error: Maybe[bool] = UNSET


ContentPart = TextPart | ReasoningPart | ImagePart | ToolCallPart | ToolResultPart
Content = str | Annotated[tuple[ContentPart, ...], Meta(min_length=1)]


class Message(Wire, frozen=True, kw_only=True):
    """One message of a conversation."""

    role: Role
    content: Content
    id: Maybe[OpaqueId] = UNSET
    metadata: Maybe[JsonObject] = UNSET


class Usage(Wire, frozen=True, kw_only=True):
    """Tokens as the provider counted them; an absent figure is unknown, never zero."""

    input_tokens: Maybe[Natural] = UNSET
    output_tokens: Maybe[Natural] = UNSET
    total_tokens: Maybe[Natural] = UNSET


def text_of(content: Content) -> str:
    """The text of a message: the string itself, or its text parts put together."""
    if isinstance(content, str):
        return content
    return "".join(part.text for part in content if isinstance(part, TextPart))
