"""Which act a message asks for, and with which arguments.

One data part `{"act": name, "arguments": {...}}` names it; text beside it is for people. Text alone is a question, and
becomes `semantic_search` with that text as its query.
"""

from __future__ import annotations

from typing import Any

import msgspec

from sayso.gateway.doors.a2a.codes import invalid_params
from sayso.gateway.doors.a2a.values import Message
from sayso.gateway.guard.rules.limits import Limits, check_payload

__all__ = ("QUESTION", "Ask", "read_ask")

QUESTION = "semantic_search"
_MEMBERS = frozenset({"act", "arguments"})


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """An act by name; `place` is where its arguments stand."""

    act: str
    arguments: Any
    place: str


def read_ask(message: Message, place: str, limits: Limits) -> Ask:
    """Refused: `payload_limits`, counted from each part's data (GTW-021); `invalid_params` where no act, or more than
    one, is named, or a data part holds anything else.
    """
    asks = []
    for number, part in enumerate(message.parts):
        if part.text is not None:
            check_payload(part.text, f"{place}.parts[{number}].text", limits)
        else:
            where = f"{place}.parts[{number}].data"
            check_payload(part.data, where, limits)
            asks.append(_read_data(part.data, where))
    if len(asks) > 1:
        raise invalid_params("A message names one act", place)
    if asks:
        return asks[0]
    words = "\n".join(part.text for part in message.parts if part.text)
    if not words.strip():
        raise invalid_params("The message says nothing", place)
    return Ask(act=QUESTION, arguments={"query": words}, place=f"{place}.parts")


def _read_data(data: Any, place: str) -> Ask:
    if not isinstance(data, dict) or not isinstance(data.get("act"), str):
        raise invalid_params('Data is an object {"act": name, "arguments": {...}}', place)
    if strange := sorted(data.keys() - _MEMBERS):
        raise invalid_params("Data holds act and arguments and nothing else", f"{place}.{strange[0][:64]}")
    arguments = data.get("arguments", {})
    if not isinstance(arguments, dict):
        raise invalid_params("The arguments are an object", f"{place}.arguments")
    return Ask(act=data["act"], arguments=arguments, place=f"{place}.arguments")
