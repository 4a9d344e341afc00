"""Which acts a door tells an agent of: those its key lets it ask for, and that can be carried out at all (GTW-030).

An execution that does not say what a second run would do is run by nobody. What an agent's key does not allow it does
not see; that it is refused as well is the passage's matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from sayso.governance.acts import Act, ActClass

__all__ = ("can_run", "offered")

_SCOPE = {ActClass.DISCLOSURE: "disclose", ActClass.EXECUTION: "propose"}


def can_run(act: Act) -> bool:
    """Whether somebody would carry it out."""
    return act.act_class is ActClass.DISCLOSURE or act.repeats is not None


def offered(acts: Iterable[Act], scopes: Set[str]) -> list[Act]:
    """The acts that a key with these scopes is told of, by name."""
    return sorted((act for act in acts if _SCOPE[act.act_class] in scopes and can_run(act)), key=lambda act: act.name)
