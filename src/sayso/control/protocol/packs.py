"""A pack's own document, `pack.json`: what an extension defines, declared and not inferred (OAP-032).

Its shape alone. Whether names, gates, roles and references hold together is the loader's to say.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from sayso.control.protocol.payloads.scalars import UNSET, JsonObject, Maybe, Text, Texts, Wire, refuse_repeats

__all__ = (
    "PackDependency",
    "PackDocument",
    "PackEnvelopeType",
    "PackFixture",
    "PackGate",
    "PackPayloadMember",
    "PackRole",
)

_LABEL = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"
PackId = Annotated[str, Meta(pattern=rf"^{_LABEL}(\.{_LABEL})+$")]
PackRole = Literal["request", "response", "event"]


class PackDependency(Wire, frozen=True, kw_only=True):
    """A pack whose schemas this one may refer to: exactly that id and version."""

    id: Text
    version: Text


class PackEnvelopeType(Wire, frozen=True, kw_only=True):
    """A type the pack adds; `schema` is `<file>#<pointer>` to the branch that judges its envelopes."""

    type: Text
    role: Maybe[PackRole] = UNSET
    schema: Maybe[Text] = UNSET
    replies_to: Maybe[Text] = UNSET
    refusals: Maybe[Texts] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(self, "refusals")


class PackGate(Wire, frozen=True, kw_only=True):
    """Which capability a type, or a member of a core type, needs; or that it needs none."""

    type: Maybe[Text] = UNSET
    payload_type: Maybe[Text] = UNSET
    member: Maybe[Text] = UNSET
    capability: Maybe[Text] = UNSET
    ungated: Maybe[bool] = UNSET


class PackPayloadMember(Wire, frozen=True, kw_only=True):
    """A member the pack adds to a core type's payload, and the schema its value must satisfy."""

    payload_type: Text
    member: Text
    schema: JsonObject


class PackDocument(Wire, frozen=True, kw_only=True):
    """`pack.json`."""

    id: PackId
    version: Text
    schemas: Annotated[Texts, Meta(min_length=1)]
    depends_on: Maybe[tuple[PackDependency, ...]] = UNSET
    capability_keys: Maybe[Texts] = UNSET
    error_codes: Maybe[Texts] = UNSET
    envelope_types: Maybe[tuple[PackEnvelopeType, ...]] = UNSET
    gates: Maybe[tuple[PackGate, ...]] = UNSET
    payload_members: Maybe[tuple[PackPayloadMember, ...]] = UNSET
    fixtures: Maybe[Text] = UNSET

    def __post_init__(self) -> None:
        refuse_repeats(self, "schemas", "capability_keys", "error_codes")


class PackFixture(Wire, frozen=True, kw_only=True):
    """One row of a pack's own fixtures: a trace, the verdict it gets, and the claims it supports."""

    id: Text
    path: Text
    valid: bool
    units: Texts
    phase: Maybe[str] = UNSET
    codes: Maybe[Texts] = UNSET
    mode: Maybe[Literal["strict", "tolerant"]] = UNSET
    aspect: Maybe[Literal["gate", "honour"]] = UNSET
    capability: Maybe[Text] = UNSET
