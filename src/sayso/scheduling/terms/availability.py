"""Asking what is free, and the answer (spec section 7; SCH-110, SCH-111). A snapshot: it reserves nothing (SCH-008)."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from sayso.core.money import MoneyText
from sayso.scheduling.terms.wire import Instant, OpaqueId, ZoneName

__all__ = ("MAX_SLOTS", "MAX_WINDOW_DAYS", "AvailabilityAnswer", "AvailabilityRequest", "Slot", "Window")

MAX_WINDOW_DAYS = 31
"""The longest window one request may ask for (SCH-117)."""

MAX_SLOTS = 500
"""The most slots one answer carries; `more_from` says where the next request begins (SCH-117)."""


class Window(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Half-open `[start, end)`; a fixed-length appointment starts and ends inside it (SCH-078)."""

    start: Instant
    end: Instant


class AvailabilityRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Which service, when, and with whom where the guest asks for somebody (SCH-114)."""

    service_id: OpaqueId
    window: Window
    resource_id: OpaqueId | None = None


class Slot(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """One start that was free at `as_of`. Either `end` or `open_end`; money only where a price is stated."""

    start: Instant
    end: Instant | None = None
    open_end: Literal[True] | None = None
    price: MoneyText | None = None
    total: MoneyText | None = None


class AvailabilityAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The slots in order of start, spelled in the host's own offset (SCH-275)."""

    timezone: ZoneName
    slots: Annotated[tuple[Slot, ...], Meta(max_length=MAX_SLOTS)]
    as_of: Instant
    more_from: Instant | None = None
