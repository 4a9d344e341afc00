"""The opaque token of a part: what its own wire needs back, marked with that wire.

A conversation may go on with another model; a token of another wire means nothing there and is left behind.
"""

from __future__ import annotations

from collections.abc import Mapping

from sayso.control.protocol.payloads.scalars import UNSET, Maybe
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = ("read_carry", "write_carry")

_WIRE = "wire"


def write_carry(wire: str, token: Mapping[str, object]) -> str:
    """The token as a part carries it."""
    return strictjson.encode({_WIRE: wire, **token}).decode()


def read_carry(wire: str, carry: Maybe[str]) -> Mapping[str, object]:
    """The token, or an empty one if it is not this wire's."""
    if carry is UNSET:
        return {}
    try:
        value = strictjson.parse(carry.encode(errors="replace"))
    except Refused:
        return {}
    if not isinstance(value, dict) or value.get(_WIRE) != wire:
        return {}
    return {name: inner for name, inner in value.items() if name != _WIRE}
