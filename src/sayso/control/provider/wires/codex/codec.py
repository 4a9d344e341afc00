"""A request as the body of `POST /responses` behind the Codex backend: OpenAI's responses with rules of their own.

It takes instructions apart from the input and must have some, keeps nothing (`store` false), and decides by itself how
much a model may write: a limit is refused there and therefore left out here. The account is told in a header, read out
of the token that was signed in with. What is encrypted for an account means nothing to another, so carries of this
wire and of `openai-responses` stay apart.

Undocumented by the vendor; written from the source of its own program and from what it answers to others (2026-11).
"""

from __future__ import annotations

from sayso.control.protocol.payloads.content import Message
from sayso.control.provider.wires.asking import Ask, instructions_of
from sayso.control.provider.wires.offering import Offering
from sayso.control.provider.wires.responses import codec as responses
from sayso.core import b64u, strictjson
from sayso.core.refusal import Refused

__all__ = ("HEADERS", "WIRE", "account_of", "body_of", "object_to", "path_of")

WIRE = "openai-codex-responses"
HEADERS = (("originator", "sayso"),)
Json = dict[str, object]

_ACCOUNT = "chatgpt_account_id"
_LONGEST = 200
_NOTHING_SAID = "Answer the person."
"""It refuses a request without instructions, and a conversation may have none."""


def path_of(offering: Offering) -> str:
    """Behind the base URL."""
    return responses.path_of(offering)


def object_to(ask: Ask, _: Offering) -> str | None:
    """It samples its own way."""
    if ask.temperature is not None or ask.top_p is not None:
        return "temperature and top_p cannot be set here"
    return None


def body_of(ask: Ask, offering: Offering) -> Json:
    """The JSON body; always streaming."""
    body = responses.body_of(ask, offering)
    body.pop("max_output_tokens", None)
    said: list[Message] = [message for message in ask.messages if message.role not in ("system", "developer")]
    instructions = "\n\n".join(instructions_of(ask.messages)) or _NOTHING_SAID
    return {**body, "instructions": instructions, "input": responses.items_of(said, offering), "store": False}


def account_of(token: str) -> tuple[tuple[str, str], ...]:
    """The header that names the token's account; none where the token does not say. It is read and not verified: it
    is our own, and whoever it goes to verifies it.
    """
    try:
        claims = strictjson.parse(b64u.decode(token.split(".")[1]))
    except (IndexError, ValueError, Refused):
        return ()
    within = claims.values() if isinstance(claims, dict) else ()
    account = next((claim[_ACCOUNT] for claim in within if isinstance(claim, dict) and _ACCOUNT in claim), None)
    is_text = isinstance(account, str) and 0 < len(account) <= _LONGEST and account.isascii() and account.isprintable()
    return (("chatgpt-account-id", account),) if is_text and isinstance(account, str) else ()
