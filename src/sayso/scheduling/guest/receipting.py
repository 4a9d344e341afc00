"""What the guest's side writes into the house's own log: facts, ids and hashes, with the signed documents beside them.

A recorder is handed in by the house; `ledger_recorder` is the one over a ledger. A receipt becomes durable together
with the state it tells of, so neither is ever there without the other. Words, tokens and amounts stay out of bodies:
documents are evidence, found by hash, each with the key set that verifies it (GTW-050, GTW-052).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from sayso.core.canonical import canonical
from sayso.core.strictjson import JsonValue
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.evidence import KEY_SET, SIGNED
from sayso.ledger.rules.kinds import declare
from sayso.ledger.rules.record import Draft, Link
from sayso.proof.hashes import sha256_b64u
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.identity import Jwk, public_key
from sayso.store.unit import Unit

__all__ = (
    "BOOKING_CANCELLED",
    "BOOKING_CONFIRMED",
    "BOOKING_MOVED",
    "BOOKING_RECEIPT",
    "BOOKING_RECONFIRMED",
    "CHANGE_DROPPED",
    "CHANGE_OFFERED",
    "HOLD_PLACED",
    "HOLD_RELEASED",
    "HOST_REFUSED",
    "MANDATE_SIGNED",
    "Record",
    "SignedDocument",
    "host_keys",
    "ledger_recorder",
    "principal_keys",
)

MANDATE_SIGNED = declare("guest.mandate_signed", "The person signed limits, an offer or the care of a booking.")
HOLD_PLACED = declare("guest.hold_placed", "A host keeps a time for us, under its signed offer.")
HOLD_RELEASED = declare("guest.hold_released", "A hold was given back, or left to run out.")
BOOKING_CONFIRMED = declare("guest.booking_confirmed", "An offer was accepted, and the host confirmed it.")
BOOKING_CANCELLED = declare("guest.booking_cancelled", "A booking of ours was cancelled.")
BOOKING_MOVED = declare("guest.booking_moved", "A booking of ours was moved by a change offer that was accepted.")
BOOKING_RECEIPT = declare("guest.booking_receipt", "A host's signed receipt was checked and kept.")
BOOKING_RECONFIRMED = declare("guest.booking_reconfirmed", "We said again that the person is coming.")
CHANGE_OFFERED = declare("guest.change_offered", "A host keeps another time for a booking, under its signed offer.")
CHANGE_DROPPED = declare("guest.change_dropped", "A change offer was given back.")
HOST_REFUSED = declare("guest.host_refused", "A host said no; its code and reason.")


class SignedDocument(NamedTuple):
    """A compact JWS, the part it plays, and the key set that verifies it."""

    role: str
    token: str
    keys: bytes


class Record(Protocol):
    """Writes one receipt with its evidence, in the unit of work that also keeps what it tells of."""

    def __call__(
        self, unit: Unit, kind: str, body: Mapping[str, JsonValue], documents: Sequence[SignedDocument] = ()
    ) -> None: ...


def host_keys(document: Discovery) -> bytes:
    """The key set of a host, as canonical JSON: what its offers and receipts verify with."""
    return canonical({"keys": [{**public_key(key.jwk).jwk(), "kid": key.kid} for key in document.keys]})


def principal_keys(jwk: Jwk) -> bytes:
    """The key set of a person: the one key their mandates carry."""
    return canonical({"keys": [dict(public_key(jwk).jwk())]})


def ledger_recorder(ledger: Ledger, actor: str) -> Record:
    """A recorder over a ledger of the same store. Its record is the last thing a unit locks, as the ledger asks."""

    def record(unit: Unit, kind: str, body: Mapping[str, JsonValue], documents: Sequence[SignedDocument] = ()) -> None:
        links = []
        for document in documents:
            keys = ledger.put_evidence_in(unit, KEY_SET, document.keys)
            ledger.put_evidence_in(unit, SIGNED, document.token.encode("ascii"), verified_by=keys)
            links.append(Link(role=document.role, sha256=sha256_b64u(document.token)))
        ledger.append_in(unit, Draft(kind=kind, actor=actor, body=body, links=links))

    return record
