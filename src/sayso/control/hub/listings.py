"""What a hub lists: its adapters and its sessions, as plain JSON and not envelopes (OAP-097, OAP-109)."""

from __future__ import annotations

import msgspec

from sayso.control.protocol.payloads.capabilities import CapabilitiesResponse

__all__ = ("AdapterListing", "AdapterListings", "SessionListing", "SessionListings")


class AdapterListing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One adapter as listed: what it supports, or why that could not be told."""

    name: str
    capability_revision: str | None = None
    capabilities: CapabilitiesResponse | None = None
    error: str | None = None


class SessionListing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One session as listed; `created_at` is RFC 3339 in UTC, whole seconds."""

    session_id: str
    adapter: str
    status: str
    created_at: str
    active_run_id: str | None = None


class AdapterListings(msgspec.Struct, frozen=True, kw_only=True):
    """All adapters, by name."""

    adapters: tuple[AdapterListing, ...]


class SessionListings(msgspec.Struct, frozen=True, kw_only=True):
    """All sessions, by id."""

    sessions: tuple[SessionListing, ...]
