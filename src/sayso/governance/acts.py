"""What may be done at all.

Every operation of every system is registered here with a class before anybody can call it; an operation with no class
does not run (GTW-030). Doors, loops and consoles know acts by name only, so there is no second way to reach state.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Any

import msgspec

from sayso.core import strictjson
from sayso.core.refusal import Misuse, Refused
from sayso.governance.consent import Consent, Question

__all__ = ("UNCLASSIFIED", "Act", "ActClass", "Operation", "Probe", "Registry", "Repeats")

UNCLASSIFIED = "unclassified_act"


class ActClass(Enum):
    """The two classes of the constitution's first article."""

    DISCLOSURE = "disclosure"
    """Lists, reads, searches, describes: runs at once and is receipted."""
    EXECUTION = "execution"
    """Changes something: needs consent first, with a receipt before and after."""


class Repeats(Enum):
    """What an act promises when it is run again after a crash (GTW-033)."""

    IDEMPOTENT = "idempotent"
    """Running it again with the same call id has no second effect: exactly one."""
    PROBE = "probe"
    """A probe tells whether the effect is there already, so it is run again only if not: exactly one."""
    AT_MOST_ONCE = "at_most_once"
    """It is never run again: after a crash in between it ends `failed: unknown`, and a person is told."""


Operation = Callable[[Any, Consent | None], Awaitable[Mapping[str, Any] | Question]]
"""An act's body: the decoded arguments and the consent it may rely on (None for a disclosure) to a JSON object.

A body that finds another signature missing midway (a booking stands, the mandate to manage it is not signed yet)
answers with the question; it is called again with the answer and must then go on, never do the first part twice.
"""
Probe = Callable[[Any, Consent | None], Awaitable[Mapping[str, Any] | None]]
"""Whether an act's effect is there already: its result, or None."""


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """One registered operation.

    `arguments` is a closed Struct; `touches_others` says whether anybody but the person is affected, which decides how
    strong the evidence of consent has to be. `result` describes what the act answers, for those who read schemas.

    Of an execution that runs on its own after a decision: `repeats` says what a second run would do (without it such an
    act is not run), `seconds` how long one run may take, `budget_cents` the most it may cost.
    """

    name: str
    act_class: ActClass
    title: str
    description: str
    arguments: type[msgspec.Struct]
    touches_others: bool
    result: type[msgspec.Struct] | None = None
    repeats: Repeats | None = None
    seconds: int = 60
    budget_cents: int = 0

    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments, printed from the type that decodes them."""
        return _schema_of(self.arguments)

    def output_schema(self) -> dict[str, Any] | None:
        """The JSON Schema of what it answers, where the act states one."""
        return None if self.result is None else _schema_of(self.result)

    def decode(self, arguments: object) -> msgspec.Struct:
        """The arguments as their Struct. Refused: `schema_invalid`, naming the member."""
        return strictjson.decode(strictjson.encode(arguments), self.arguments)


class Registry:
    """The acts of one house, in the order they were registered."""

    def __init__(self) -> None:
        self._acts: dict[str, tuple[Act, Operation]] = {}
        self._probes: dict[str, Probe] = {}

    def register(self, act: Act, operation: Operation, probe: Probe | None = None) -> None:
        """Adds an act. Misuse if the name is taken: two bodies behind one name could not both be governed; or if it
        says `probe` and has none, or has one and does not say so.
        """
        if act.name in self._acts:
            raise Misuse(f"the act {act.name} is registered twice")
        if (act.repeats is Repeats.PROBE) != (probe is not None):
            raise Misuse(f"the act {act.name} and its probe do not agree")
        self._acts[act.name] = (act, operation)
        if probe is not None:
            self._probes[act.name] = probe

    def probe(self, name: str) -> Probe | None:
        """What tells whether an act's effect is there, for an act that has one."""
        return self._probes.get(name)

    def find(self, name: str) -> tuple[Act, Operation]:
        """The act and its body. Refused: `unclassified_act` when nobody classified it."""
        try:
            return self._acts[name]
        except KeyError:
            raise Refused.because(
                UNCLASSIFIED,
                f"{name} is not an act of this house, so it does not run",
                place="name",
                help=f"The acts are: {', '.join(self._acts) or 'none'}.",
            ) from None

    def acts(self) -> tuple[Act, ...]:
        """Every registered act, for catalogs."""
        return tuple(act for act, _ in self._acts.values())


def _schema_of(type_: type[msgspec.Struct]) -> dict[str, Any]:
    (schema,), parts = msgspec.json.schema_components([type_], ref_template="#/$defs/{name}")
    found = dict(parts.pop(type_.__name__, schema))
    if parts:
        found["$defs"] = parts
    return found
