"""Loaded packs as the validator uses them: whose a type is, how its envelopes are judged, and which capability it needs
(OAP-033, OAP-035).

A pack adds words and amends none. An envelope of a core type is judged twice: the core judges what is left when the
packs' members are out, and each member is judged by its own schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sayso.control.protocol.packs import PackRole
from sayso.control.validator.compiling import Check
from sayso.core.refusal import Refused

__all__ = ("NO_PACKS", "PackMember", "PackType", "Packs")


class PackType(msgspec.Struct, frozen=True, kw_only=True):
    """One type of a loaded pack. `capability` is None where it is declared ungated."""

    name: str
    pack: str
    role: PackRole
    check: Check
    capability: str | None = None
    replies_to: str | None = None
    refusals: frozenset[str] = frozenset()


class PackMember(msgspec.Struct, frozen=True, kw_only=True):
    """One member that a loaded pack adds to a core type's payload."""

    name: str
    pack: str
    check: Check
    capability: str | None = None


class Packs:
    """The packs of one run of the validator."""

    def __init__(
        self, types: Sequence[PackType] = (), members: Mapping[str, Sequence[PackMember]] | None = None
    ) -> None:
        self.types: Mapping[str, PackType] = {kind.name: kind for kind in types}
        self.members: Mapping[str, Sequence[PackMember]] = dict(members or {})

    def judge_shape(self, name: str, value: dict[str, Any]) -> None:
        """An envelope of a pack's type, by the pack's own branch. Raises `Refused` `schema_invalid`."""
        wrong = self.types[name].check(value)
        if wrong is not None:
            raise Refused.because("schema_invalid", wrong)

    def without_members(self, name: str, value: dict[str, Any]) -> dict[str, Any]:
        """A core envelope without what packs added, each of which fits. Raises `Refused` `schema_invalid`."""
        added = self.members.get(name)
        payload = value.get("payload")
        if not added or not isinstance(payload, dict):
            return value
        for member in added:
            if member.name in payload and (wrong := member.check(payload[member.name])) is not None:
                raise Refused.because("schema_invalid", wrong, place=f"$.payload.{member.name}")
        names = {member.name for member in added}
        return {**value, "payload": {key: inner for key, inner in payload.items() if key not in names}}

    def elected(self, name: str, value: object) -> list[PackMember]:
        """The packs' members that stand in an envelope of a core type."""
        payload = value.get("payload") if isinstance(value, dict) else None
        if not isinstance(payload, dict):
            return []
        return [member for member in self.members.get(name, ()) if member.name in payload]


NO_PACKS = Packs()
