"""The tools, resources and prompts that MCP's conformance suite calls by name, as governed acts of a test-mode house.

They stand behind the same door, registry and constitution as every other act: the suite tests our door, not a copy of
it. What the suite wants besides (asking the client's person or model midway) a gateway does not do; see the files of
expected failures beside `tests/conformance_mcp`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sayso.core.refusal import Refused
from sayso.core.strictjson import encode
from sayso.gateway.crossing import Agent
from sayso.gateway.doors.mcp.write.tools import Content, ContentWriter
from sayso.gateway.surface import (
    UNKNOWN_PROMPT,
    UNKNOWN_RESOURCE,
    Contents,
    Prompt,
    PromptArgument,
    PromptText,
    Readable,
    Template,
    Utterance,
)
from sayso.governance.acts import Act, ActClass, Registry
from sayso.governance.consent import Consent

__all__ = ("WRITERS", "FixtureSurface", "register_fixtures")

_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
_WAV = b"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x02\0\0\0\0\0"
_TEMPLATE = ("test://template/", "/data")


class Nothing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool without arguments."""


def _packed(data: bytes) -> str:
    return base64.b64encode(data).decode()


_IMAGE: Content = {"type": "image", "data": _packed(_PNG), "mimeType": "image/png"}


def _embedded(uri: str, mime_type: str, text: str) -> Content:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}}


_CONTENT: Mapping[str, Sequence[Content]] = {
    "test_simple_text": [{"type": "text", "text": "This is a simple text response for testing."}],
    "test_logging_tool": [{"type": "text", "text": "No log message is sent, asked for or not."}],
    "test_streaming_elicitation": [{"type": "text", "text": "Nobody is asked anything midway."}],
    "test_image_content": [_IMAGE],
    "test_audio_content": [{"type": "audio", "data": _packed(_WAV), "mimeType": "audio/wav"}],
    "test_embedded_resource": [
        _embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        {"type": "text", "text": "Multiple content types test:"},
        _IMAGE,
        _embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
}


def _writer(content: Sequence[Content]) -> ContentWriter:
    return lambda _result: content


WRITERS: Mapping[str, ContentWriter] = {name: _writer(content) for name, content in _CONTENT.items()}
"""How each tool's answer is written, for `McpDoor`."""


async def _answer(_arguments: Nothing, _consent: Consent | None) -> Mapping[str, Any]:
    return {}


async def _fail(_arguments: Nothing, _consent: Consent | None) -> Mapping[str, Any]:
    raise Refused.because("test_error", "This tool intentionally returns an error for testing")


def register_fixtures(registry: Registry) -> None:
    """Registers the suite's tools, disclosures all of them: none changes anything."""
    for name in (*_CONTENT, "test_error_handling"):
        act = Act(
            name=name,
            act_class=ActClass.DISCLOSURE,
            title=name.replace("_", " ").capitalize(),
            description="A fixture of the conformance suite.",
            arguments=Nothing,
            touches_others=False,
        )
        registry.register(act, _fail if name == "test_error_handling" else _answer)


class FixtureSurface:
    """The suite's resources and prompts."""

    def resources(self) -> Sequence[Readable]:
        """Three addresses, one of which is there to be subscribed to."""
        return tuple(
            Readable(uri=f"test://{name}", name=name, title=name, description="A fixture.", mime_type=mime_type)
            for name, mime_type in (
                ("static-text", "text/plain"),
                ("static-binary", "image/png"),
                ("watched-resource", "text/plain"),
            )
        )

    def templates(self) -> Sequence[Template]:
        """One, that puts its blank into its text."""
        return (
            Template(uri_template="test://template/{id}/data", name="data", title="Data", description="A fixture."),
        )

    async def read(self, uri: str, _agent: Agent) -> Contents:
        """A fixture's contents. Refused `unknown_resource`."""
        text = {"test://static-text": "This is the content of the static text resource.", "test://watched-resource": ""}
        if uri in text:
            return Contents(uri=uri, text=text[uri], mime_type="text/plain")
        if uri == "test://static-binary":
            return Contents(uri=uri, blob=_PNG, mime_type="image/png")
        start, end = _TEMPLATE
        if uri.startswith(start) and uri.endswith(end):
            found = uri[len(start) : -len(end)]
            told = {"id": found, "templateTest": True, "data": f"Data for ID: {found}"}
            return Contents(uri=uri, text=encode(told).decode())
        raise Refused.because(UNKNOWN_RESOURCE, "There is no such resource")

    def prompts(self) -> Sequence[Prompt]:
        """Four."""
        blanks = tuple(PromptArgument(name=name, description="A blank.", required=True) for name in ("arg1", "arg2"))
        uri = (PromptArgument(name="resourceUri", description="What to embed.", required=True),)
        every: Mapping[str, tuple[PromptArgument, ...]] = {
            "test_simple_prompt": (),
            "test_prompt_with_arguments": blanks,
            "test_prompt_with_embedded_resource": uri,
            "test_prompt_with_image": (),
        }
        return tuple(
            Prompt(name=name, title=name, description="A fixture.", arguments=arguments)
            for name, arguments in every.items()
        )

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> PromptText:
        """A fixture filled in. Refused `unknown_prompt`, `schema_invalid`."""
        known = {each.name: each for each in self.prompts()}
        if name not in known:
            raise Refused.because(UNKNOWN_PROMPT, "There is no such prompt")
        wanted = {each.name for each in known[name].arguments}
        if arguments.keys() != wanted:
            raise Refused.because("schema_invalid", "The blanks are not those of the prompt", place="arguments")
        return PromptText(description="A fixture.", messages=tuple(_said(name, arguments)))

    def complete(self, of: str, argument: str, value: str) -> Sequence[str]:
        """Three cities."""
        return [city for city in ("paris", "park", "party") if city.startswith(value)]


def _said(name: str, arguments: Mapping[str, str]) -> list[Utterance]:
    if name == "test_simple_prompt":
        return [Utterance(text="This is a simple prompt for testing.")]
    if name == "test_prompt_with_arguments":
        return [Utterance(text=f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'")]
    if name == "test_prompt_with_image":
        image = Contents(uri="test://image", blob=_PNG, mime_type="image/png")
        return [Utterance(contents=image), Utterance(text="Please analyze the image above.")]
    embedded = Contents(
        uri=arguments["resourceUri"], text="Embedded resource content for testing.", mime_type="text/plain"
    )
    return [Utterance(contents=embedded), Utterance(text="Please process the embedded resource above.")]
