"""One receipt: the record that is chained, and the disclosure that waits for a batch (GTW-050, GTW-051).

A receipt is one JSON object in canonical form (RFC 8785). Its bytes are stored and exported exactly as they were
hashed; nothing is ever recomputed from columns. Absent members are left out, so every receipt has one spelling.

    member         in           meaning
    actor          both         who acted: an agent's id, or the person who decided
    article        both         the article of the constitution it falls under (optional)
    at             both         RFC 3339 in UTC with six decimals: the writer's statement; what orders a log is `seq`
    body           both         a small object of facts: codes, ids, hashes; never words, payloads or secrets (optional)
    inputs_sha256  both         SHA-256 of the raw bytes received (optional); base64url like every hash in here
    kind           both         what happened, a dotted name that its owner declares: `consent.given`
    leaf           disclosures  its number among the log's disclosures, from 0 without gaps
    links          both         hashes of the documents it rests on, each with the part it plays (optional)
    log            both         the log's name
    output_sha256  both         SHA-256 of the raw bytes sent (optional)
    prev           records      the hash of the record before it, or `chain.GENESIS`
    seq            records      its place in the log, from 0 without gaps
    v              both         1

The spelling is fixed in `wire`, what is chained in `chain`, what is sealed in `batch`. Whether somebody may write a
kind is not asked here: a kind has a shape only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256

import msgspec

from sayso.core import b64u
from sayso.core.refusal import Misuse, Refused
from sayso.core.strictjson import JsonValue
from sayso.ledger.rules.wire import Link, Wire, malformed, read_body, read_wire, write_body, write_wire

__all__ = (
    "HASH_PREFIX",
    "Disclosure",
    "Draft",
    "Link",
    "Record",
    "hash_record",
    "read_disclosure",
    "read_record",
    "write_disclosure",
    "write_instant",
    "write_record",
)

HASH_PREFIX = b"sayso/receipt/v1\n"
"""Set before a record's canonical bytes when its hash is taken, so that no other hash can be passed off as one."""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """What a writer states; the log adds its own name, the time, and the place in the chain or among disclosures."""

    kind: str
    actor: str
    article: str | None = None
    inputs_sha256: str | None = None
    output_sha256: str | None = None
    links: Sequence[Link] = ()
    body: Mapping[str, JsonValue] = {}


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What a record and a disclosure have in common; `data` holds the canonical bytes, which are the truth."""

    log: str
    kind: str
    at: datetime
    actor: str
    article: str | None
    inputs_sha256: str | None
    output_sha256: str | None
    links: tuple[Link, ...]
    body: Mapping[str, JsonValue]
    data: bytes


class Record(_Entry, frozen=True, kw_only=True):
    """A receipt with a place of its own in the chain. `prev` and `hash` are 32 bytes each."""

    seq: int
    prev: bytes
    hash: bytes


class Disclosure(_Entry, frozen=True, kw_only=True):
    """A receipt of something that changed nothing: leaf `number` of its log, sealed with others in one batch."""

    number: int


def hash_record(data: bytes) -> bytes:
    """The 32-byte hash of a record's canonical bytes: SHA-256 over `HASH_PREFIX` and the bytes."""
    return sha256(HASH_PREFIX + data).digest()


def read_record(data: bytes) -> Record:
    """A chained record from its stored bytes. Refused: `malformed_receipt`, with the member as place."""
    wire = read_wire(data)
    if wire.seq is None or wire.prev is None or wire.leaf is not None:
        raise malformed("a chained record has seq and prev, and no leaf")
    try:
        prev = b64u.decode(wire.prev)
    except Refused:
        raise malformed("it is no base64url", "$.prev") from None
    return Record(
        log=wire.log,
        kind=wire.kind,
        at=read_instant(wire.at),
        actor=wire.actor,
        article=wire.article,
        inputs_sha256=wire.inputs_sha256,
        output_sha256=wire.output_sha256,
        links=wire.links,
        body=read_body(wire),
        data=data,
        seq=wire.seq,
        prev=prev,
        hash=hash_record(data),
    )


def read_disclosure(data: bytes) -> Disclosure:
    """A disclosure from its stored bytes. Refused: `malformed_receipt`, with the member as place."""
    wire = read_wire(data)
    if wire.leaf is None or wire.seq is not None or wire.prev is not None:
        raise malformed("a disclosure has leaf, and neither seq nor prev")
    return Disclosure(
        log=wire.log,
        kind=wire.kind,
        at=read_instant(wire.at),
        actor=wire.actor,
        article=wire.article,
        inputs_sha256=wire.inputs_sha256,
        output_sha256=wire.output_sha256,
        links=wire.links,
        body=read_body(wire),
        data=data,
        number=wire.leaf,
    )


def write_record(draft: Draft, *, log: str, at: datetime, seq: int, prev: bytes) -> Record:
    """Fixes a draft at its place in the chain. Refused: `malformed_receipt`, naming the member that is wrong."""
    data = _write(draft, log, at, seq=seq, prev=b64u.encode(prev))
    return Record(
        log=log,
        kind=draft.kind,
        at=at,
        actor=draft.actor,
        article=draft.article,
        inputs_sha256=draft.inputs_sha256,
        output_sha256=draft.output_sha256,
        links=tuple(draft.links),
        body=draft.body,
        data=data,
        seq=seq,
        prev=prev,
        hash=hash_record(data),
    )


def write_disclosure(draft: Draft, *, log: str, at: datetime, number: int) -> Disclosure:
    """Fixes a draft as a leaf. Refused: `malformed_receipt`, naming the member that is wrong."""
    return Disclosure(
        log=log,
        kind=draft.kind,
        at=at,
        actor=draft.actor,
        article=draft.article,
        inputs_sha256=draft.inputs_sha256,
        output_sha256=draft.output_sha256,
        links=tuple(draft.links),
        body=draft.body,
        data=_write(draft, log, at, leaf=number),
        number=number,
    )


def read_instant(text: str) -> datetime:
    """An instant in a receipt's fixed width. Refused: `malformed_receipt` at `$.at`."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise malformed("there is no such instant", "$.at") from None


def write_instant(at: datetime) -> str:
    """RFC 3339 in UTC with six decimals, always 27 characters."""
    if at.tzinfo is not UTC:
        raise Misuse("a receipt is dated in UTC")
    return f"{at.isoformat(timespec='microseconds')[:26]}Z"


def _write(
    draft: Draft, log: str, at: datetime, *, seq: int | None = None, prev: str | None = None, leaf: int | None = None
) -> bytes:
    return write_wire(
        Wire(
            actor=draft.actor,
            article=draft.article,
            at=write_instant(at),
            body=write_body(dict(draft.body)),
            inputs_sha256=draft.inputs_sha256,
            kind=draft.kind,
            leaf=leaf,
            links=tuple(draft.links),
            log=log,
            output_sha256=draft.output_sha256,
            prev=prev,
            seq=seq,
            v=1,
        )
    )
