"""The kinds of receipt, each declared once by the module that writes it, so that they can be listed and explained.

A log takes any kind of the right shape: an old log must stay readable when a kind is no longer written.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from sayso.core.refusal import Misuse
from sayso.ledger.rules.wire import Kind

__all__ = ("KINDS", "declare")

_declared: dict[str, str] = {}
KINDS: Mapping[str, str] = MappingProxyType(_declared)
"""Every declared kind and its sentence."""


def declare(kind: str, meaning: str) -> str:
    """Declares a kind at import and returns it. `Misuse`: the name has no shape of a kind, or means something else."""
    try:
        msgspec.convert(kind, Kind)
    except msgspec.ValidationError as wrong:
        raise Misuse(f"{kind!r} is no kind of receipt: {wrong}") from None
    if _declared.setdefault(kind, meaning) != meaning:
        raise Misuse(f"the kind {kind} is declared twice with different meanings")
    return kind
