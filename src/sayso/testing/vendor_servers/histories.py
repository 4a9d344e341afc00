"""What every vendor demands of a history (B25): each call answered once, right behind it, and nothing else answered."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ("find_fault",)

Step = tuple[str, str]
"""`call` or `result` with the id they share, or `other` with nothing."""


def find_fault(steps: Iterable[Step]) -> str | None:
    """Why a vendor would refuse it, or None."""
    waiting: list[str] = []
    seen: set[str] = set()
    for kind, name in steps:
        if kind == "call":
            if name in seen:
                return f"the call id {name} is used twice"
            seen.add(name)
            waiting.append(name)
        elif kind == "result":
            if name not in waiting:
                return f"the result {name} answers no call"
            waiting.remove(name)
        elif waiting:
            return f"the call {waiting[0]} has no result behind it"
    return f"the call {waiting[0]} has no result" if waiting else None
