"""Which receipt belongs to which step, as notes that the step's own unit of work writes (spec section 16.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sayso.core.refusal import PeerRefused
from sayso.core.strictjson import JsonValue
from sayso.proof.hashes import sha256_b64u
from sayso.scheduling.guest.kept import KeptBooking, KeptChange, KeptEntry, KeptHold, KeptMandate
from sayso.scheduling.guest.receipting import (
    BOOKING_RECEIPT,
    CHANGE_DROPPED,
    CHANGE_OFFERED,
    HOLD_PLACED,
    HOLD_RELEASED,
    HOST_REFUSED,
    MANDATE_SIGNED,
    Record,
    SignedDocument,
    host_keys,
    principal_keys,
)
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.mandate import MandateClaims
from sayso.scheduling.terms.participant import InvitationView
from sayso.store.unit import Unit

__all__ = ("Note", "Notes")

Note = Callable[[Unit], None]
"""Writes receipts into a unit of work, last of all that it does."""


class Notes:
    """The notes of one agent. `record` is the house's."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def mandate(self, kept: KeptMandate, claims: MandateClaims) -> Note:
        """The person signed; `text_sha256` is of the exact text that their key app showed them."""
        body: Mapping[str, JsonValue] = {
            "shape": kept.kind,
            "jti": kept.jti,
            "host": kept.host,
            "mode": claims.consent.mode,
            "text_sha256": sha256_b64u(claims.consent.statement.encode()),
            "subject": kept.subject,
            "expires": claims.exp,
        }
        document = SignedDocument("mandate", kept.token, principal_keys(claims.principal_jwk))
        return lambda unit: self._record(unit, MANDATE_SIGNED, body, [document])

    def hold(self, document: Discovery, hold: KeptHold) -> Note:
        body: Mapping[str, JsonValue] = {
            "host": hold.host,
            "hold_id": hold.hold_id,
            "service": hold.view.service_id,
            "start": hold.view.start,
            "expires_at": hold.view.expires_at,
            "mandate": hold.mandate,
            "offer_sha256": hold.offer_sha256,
        }
        offer = SignedDocument("offer", hold.offer, host_keys(document))
        return lambda unit: self._record(unit, HOLD_PLACED, body, [offer])

    def released(self, host: str, hold_id: str, how: str) -> Note:
        return lambda unit: self._record(unit, HOLD_RELEASED, {"host": host, "hold_id": hold_id, "how": how})

    def change(self, document: Discovery, change: KeptChange) -> Note:
        body: Mapping[str, JsonValue] = {
            "host": document.host,
            "booking_id": change.booking_id,
            "offer_id": change.offer_id,
            "start": change.view.start,
            "expires_at": change.view.expires_at,
            "offer_sha256": change.offer_sha256,
        }
        offer = SignedDocument("offer", change.offer, host_keys(document))
        return lambda unit: self._record(unit, CHANGE_OFFERED, body, [offer])

    def dropped(self, change: KeptChange) -> Note:
        body: Mapping[str, JsonValue] = {"booking_id": change.booking_id, "offer_id": change.offer_id}
        return lambda unit: self._record(unit, CHANGE_DROPPED, body)

    def settled(self, kind: str, document: Discovery, booking: KeptBooking) -> Note:
        """A booking confirmed, cancelled or moved: what we agreed to, then what the host signed for it."""
        body: Mapping[str, JsonValue] = {
            "host": booking.host,
            "booking_id": booking.booking_id,
            "sequence": booking.sequence,
            "approved": booking.approved,
            "mandate": booking.agreed,
            "offer_sha256": sha256_b64u(booking.offer),
        }

        def write(unit: Unit) -> None:
            self._record(unit, kind, body)
            self.receipt(document, booking)(unit)

        return write

    def receipt(self, document: Discovery, booking: KeptBooking) -> Note:
        """A host's receipt was checked and kept."""
        body: Mapping[str, JsonValue] = {
            "host": booking.host,
            "booking_id": booking.booking_id,
            "status": booking.state,
            "sequence": booking.sequence,
            "version": booking.version,
            "receipt_sha256": sha256_b64u(booking.receipt),
        }
        signed = SignedDocument("booking_receipt", booking.receipt, host_keys(document))
        return lambda unit: self._record(unit, BOOKING_RECEIPT, body, [signed])

    def entry(self, kind: str, entry: KeptEntry) -> Note:
        body: Mapping[str, JsonValue] = {
            "host": entry.host,
            "entry_id": entry.entry_id,
            "status": entry.view.status,
            "mandate": entry.mandate,
        }
        return lambda unit: self._record(unit, kind, body)

    def answered(self, kind: str, document: Discovery, view: InvitationView, said: str, mandate: str) -> Note:
        """Our person answered an invitation, under their own mandate, by the hash of the contract beside it."""
        body: Mapping[str, JsonValue] = {
            "host": document.host,
            "booking_id": view.booking_id,
            "said": said,
            "status": view.status,
            "mandate": mandate,
            "offer_sha256": sha256_b64u(view.offer),
        }
        offer = SignedDocument("offer", view.offer, host_keys(document))
        return lambda unit: self._record(unit, kind, body, [offer])

    def refusal(self, host: str, during: str, error: PeerRefused) -> Note:
        """A host's no: its code and reason, never its words."""
        found = error.refusal
        body: Mapping[str, JsonValue] = {
            "host": host,
            "during": during,
            "code": found.code,
            "reason": found.reason or "",
        }
        return lambda unit: self._record(unit, HOST_REFUSED, body)
