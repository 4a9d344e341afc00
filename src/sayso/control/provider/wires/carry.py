"""The opaque token of a part: what its own wire needs back, marked with that wire and with whose model made it.

A conversation may go on with another model. A token of another wire means nothing there; one of another provider over
the same wire (a signature, something encrypted) is refused there, now and in all turns that follow. Both stay behind.
"""

from __future__ import annotations

from collections.abc import Mapping

from sayso.control.protocol.payloads.scalars import UNSET, Maybe
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = ("is_foreign", "own_carry", "read_carry", "write_carry")

_WIRE, _PROVIDER = "wire", "provider"


def write_carry(wire: str, token: Mapping[str, object]) -> str:
    """The token as a part carries it."""
    return strictjson.encode({_WIRE: wire, **token}).decode()


def own_carry(carry: Maybe[str], provider: str) -> Maybe[str]:
    """The same token, marked as the provider's."""
    return UNSET if carry is UNSET else strictjson.encode({**_fields(carry), _PROVIDER: provider}).decode()


def is_foreign(carry: Maybe[str], provider: str) -> bool:
    """Whether the token is another provider's; one that says nothing of it may be anybody's."""
    return carry is not UNSET and _fields(carry).get(_PROVIDER, provider) != provider


def read_carry(wire: str, carry: Maybe[str]) -> Mapping[str, object]:
    """The token, or an empty one if it is not this wire's."""
    fields = {} if carry is UNSET else _fields(carry)
    if fields.get(_WIRE) != wire:
        return {}
    return {name: inner for name, inner in fields.items() if name not in (_WIRE, _PROVIDER)}


def _fields(carry: str) -> Mapping[str, object]:
    try:
        value = strictjson.parse(carry.encode(errors="replace"))
    except Refused:
        return {}
    return value if isinstance(value, dict) else {}
