"""The agents this door shows: one for each act, and a general one that carries any (GTW-004)."""

from __future__ import annotations

from collections.abc import Sequence

from sayso.gateway.doors.acp.order import GENERAL, JSON, TEXT, find_label
from sayso.gateway.doors.acp.wire import Agent
from sayso.governance.acts import Act, ActClass

__all__ = ("GENERAL_AGENT", "manifest_of", "manifests")

GENERAL_AGENT = Agent(
    name=GENERAL,
    description='Does any act of this house: send one part of JSON, {"act": name, "arguments": {...}}.',
    metadata={"annotations": {"act": None, "class": None}},
    input_content_types=[JSON],
    output_content_types=[JSON],
)


def manifests(acts: Sequence[Act]) -> list[Agent]:
    """The general agent, then the acts' own in the order they were registered."""
    return [GENERAL_AGENT, *(manifest_of(label, act) for label, act in find_label(acts).items())]


def manifest_of(label: str, act: Act) -> Agent:
    """An act's own agent, with the schema that its arguments are held to."""
    needs_a_person = act.act_class is ActClass.EXECUTION
    wait = " It is done once a person agreed: the run awaits until then." if needs_a_person else ""
    return Agent(
        name=label,
        description=f"{act.title}. {act.description}{wait}",
        metadata={
            "annotations": {
                "act": act.name,
                "class": act.act_class.value,
                "arguments": act.input_schema(),
                "result": act.output_schema(),
            }
        },
        input_content_types=[JSON, TEXT],
        output_content_types=[JSON],
    )
