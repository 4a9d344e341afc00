"""The register of broken endpoints: each kind under its class's name in snake case, with the check that finds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sayso.testing.toy_endpoint import Toy

__all__ = ("BROKEN", "Broken", "fails")


@dataclass(frozen=True, slots=True)
class Broken:
    """One kind: the endpoint, the check that has to fail, and words its detail has to have."""

    endpoint: type[Toy]
    check: str
    word: str = ""


BROKEN: dict[str, Broken] = {}


def fails(check: str, word: str = "") -> Callable[[type[Toy]], type[Toy]]:
    """Registers a kind."""

    def register(kind: type[Toy]) -> type[Toy]:
        name = "".join(f"_{each.lower()}" if each.isupper() else each for each in kind.__name__).lstrip("_")
        BROKEN[name] = Broken(kind, check, word)
        return kind

    return register
