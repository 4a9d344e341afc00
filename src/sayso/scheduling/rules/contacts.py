"""Whether somebody may book where only contacts may (protocol 6.10; SCH-039, SCH-262)."""

from __future__ import annotations

from sayso.scheduling.terms.codes import refused

__all__ = ("check_contact",)


def check_contact(principal: str, *, owner: str | None, is_listed: bool) -> None:
    """The owner is always admitted, everybody else by the list. Refused: not_a_contact, in the same words to all."""
    if principal != owner and not is_listed:
        raise refused("not_a_contact")
