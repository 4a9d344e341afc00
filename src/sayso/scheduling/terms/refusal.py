"""The one shape in which a host says no (spec section 14; SCH-336, SCH-340)."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from sayso.scheduling.terms.availability import Slot
from sayso.scheduling.terms.discovery import Contact
from sayso.scheduling.terms.wire import Prose, VersionName, Words, whole

__all__ = ("RefusalBody", "WireRefusal")


class WireRefusal(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """`code` and `reason` are registered (`terms.codes`), `message` is for people, `help` says what would help.

    `contact` is always there: a way to reach the host without an agent (SCH-042).
    """

    code: Annotated[str, Meta(pattern=whole("[A-Z][A-Z_]{2,40}"))]
    reason: Annotated[str, Meta(pattern=whole("[a-z][a-z0-9_]{1,60}"))]
    message: Prose
    contact: Contact
    help: Prose | None = None
    place: Words | None = None
    alternatives: Annotated[tuple[Slot, ...], Meta(max_length=20)] = ()
    retry_after: Annotated[int, Meta(ge=1)] | None = None
    versions: Annotated[tuple[VersionName, ...], Meta(max_length=8)] = ()


class RefusalBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The whole body of a refusal."""

    refusal: WireRefusal
