"""Where an appointment happens (spec section 9.4; SCH-171, SCH-259)."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from sayso.scheduling.terms.wire import Words, whole

__all__ = ("AtGuest", "AtHost", "Elsewhere", "Place")


class AtHost(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="at", tag="host"):
    """At the host's own place: the default, and it needs no further words."""


class AtGuest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="at", tag="guest"):
    """At the guest's address, as far as the host needs it before it comes."""

    postal_code: Annotated[str, Meta(pattern=whole("[A-Z0-9][A-Z0-9 -]{1,10}"))]
    country: Annotated[str, Meta(pattern=whole("[A-Z]{2}"))]


class Elsewhere(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="at", tag="elsewhere"):
    """At a place the guest names."""

    name: Words


Place = AtHost | AtGuest | Elsewhere
