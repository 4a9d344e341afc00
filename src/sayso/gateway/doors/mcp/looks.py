"""What this door shows by itself, as disclosures with a class of their own (GTW-030): reading, prompts, completion.

No operation stands behind them, because every surface knows its own addresses; but they are judged by the constitution
and receipted like every other look.
"""

from __future__ import annotations

import msgspec

from sayso.governance.acts import Act, ActClass

__all__ = ("COMPLETE", "GET_PROMPT", "READ_RESOURCE")


class Address(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which resource."""

    uri: str


class Blanks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which prompt, and what stands in its blanks."""

    name: str
    arguments: dict[str, str]


class Beginning(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which blank, and how its value begins."""

    of: str
    argument: str
    value: str


def _look(name: str, title: str, arguments: type[msgspec.Struct]) -> Act:
    return Act(
        name=name,
        act_class=ActClass.DISCLOSURE,
        title=title,
        description=f"{title}.",
        arguments=arguments,
        touches_others=False,
    )


READ_RESOURCE = _look("read_resource", "Read a resource", Address)
GET_PROMPT = _look("get_prompt", "Fill in a prompt", Blanks)
COMPLETE = _look("complete_value", "Complete a value", Beginning)
