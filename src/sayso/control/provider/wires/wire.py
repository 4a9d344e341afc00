"""The wires side by side: where each posts, how it is given a credential, what it writes and who reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sayso.control.provider.wires.asking import Ask
from sayso.control.provider.wires.chat import codec as chat
from sayso.control.provider.wires.chat.reducer import ChatReducer
from sayso.control.provider.wires.codex import codec as codex
from sayso.control.provider.wires.generate import codec as generate
from sayso.control.provider.wires.generate.reducer import GenerateReducer
from sayso.control.provider.wires.messages import codec as messages
from sayso.control.provider.wires.messages.reducer import MessagesReducer
from sayso.control.provider.wires.offering import Auth, Offering, WireName
from sayso.control.provider.wires.reducing import NameCall, Reducer
from sayso.control.provider.wires.responses import codec as responses
from sayso.control.provider.wires.responses.reducer import CodexReducer, ResponsesReducer

__all__ = ("WIRES", "WireKind", "write_credential")


def _nothing(_: Ask, __: Offering) -> str | None:
    return None


def _none(_: str) -> tuple[tuple[str, str], ...]:
    return ()


@dataclass(frozen=True, slots=True)
class WireKind:
    """One wire. `path` stands behind the base URL; `object_to` says what this wire alone cannot be asked; `account`
    reads out of a credential which headers go beside it.
    """

    path: Callable[[Offering], str]
    body: Callable[[Ask, Offering], dict[str, object]]
    reducer: Callable[[NameCall], Reducer]
    auth: Auth
    headers: tuple[tuple[str, str], ...] = ()
    object_to: Callable[[Ask, Offering], str | None] = _nothing
    account: Callable[[str], tuple[tuple[str, str], ...]] = _none


WIRES: Mapping[WireName, WireKind] = {
    "openai-chat-completions": WireKind(chat.path_of, chat.body_of, ChatReducer, "bearer"),
    "openai-responses": WireKind(responses.path_of, responses.body_of, ResponsesReducer, "bearer"),
    "openai-codex-responses": WireKind(
        codex.path_of, codex.body_of, CodexReducer, "bearer", codex.HEADERS, codex.object_to, codex.account_of
    ),
    "anthropic-messages": WireKind(
        messages.path_of, messages.body_of, MessagesReducer, "x-api-key", messages.HEADERS, messages.object_to
    ),
    "google-generate-content": WireKind(
        generate.path_of, generate.body_of, GenerateReducer, "x-goog-api-key", object_to=generate.object_to
    ),
}


def write_credential(auth: Auth, secret: str) -> tuple[str, str]:
    """The one header a credential travels in; never the URL, which ends up in logs."""
    return ("authorization", f"Bearer {secret}") if auth == "bearer" else (auth, secret)
