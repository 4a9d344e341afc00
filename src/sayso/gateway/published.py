"""What anybody may read of the receipts: the key, the checkpoint, the export and the proofs (GTW-052).

The same bytes to everybody, no key asked and no receipt made: reading what is published is no crossing, and a log that
grew with every look at it would never match its checkpoint. Strangers are limited by their address, in this process and
in memory, so that nobody outside causes a write. An export holds hashes and facts and no document; it is made anew at
most every ten seconds and read by everybody who comes in between.

    GET /api/receipts/key                        the log's public key, a verifier key line
    GET /api/receipts/checkpoint                 the newest signed note
    GET /api/receipts/export                     the export, as `docs/verify-receipts.md` describes it
    GET /api/receipts/records/{seq}/proof        a record and its inclusion; `?size=` among so many records
    GET /api/receipts/disclosures/{number}/proof a disclosure and its inclusion in its batch
    GET /api/receipts/consistency?from=&to=      that the log of one size begins the log of another
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from urllib.parse import parse_qsl

import anyio
import msgspec
from sqlalchemy import bindparam, select
from starlette.routing import Route
from starlette.types import Scope

from sayso.core import b64u, strictjson
from sayso.core.clock import Clock
from sayso.core.refusal import Refused
from sayso.gateway.doors.door import public_app
from sayso.gateway.guard.rules.codes import Code, declare, refusal
from sayso.gateway.pages import Answerer, Page, Reply
from sayso.gateway.strangers import Strangers
from sayso.ledger.ledger import Ledger
from sayso.net.edge import LOOPBACK_HOSTS, Edge
from sayso.proof.hashes import sha256_hex
from sayso.proof.keys import PublicKey
from sayso.proof.note import write_verifier_key
from sayso.store.statements import statement
from sayso.store.tables.ledger import ledger_checkpoint
from sayso.store.unit import Reading, Store

__all__ = (
    "BASE",
    "ConsistencyProof",
    "DisclosureProof",
    "Published",
    "RecordProof",
    "published_routes",
)

BASE = "/api/receipts"
NO_SUCH_RECEIPT = declare(
    Code("no_such_receipt", 404, 40460, "There is no such receipt", "Look at the newest checkpoint's size.")
).code
EVERYBODY = "published receipts: hashes and facts, no document; the same bytes to everybody (GTW-052)"

NOTE = "text/plain; charset=utf-8"
LINES = "application/jsonl"
_FRESH = timedelta(seconds=10)
_PROVERS = 2
_NUMBER = re.compile(r"(?:0|[1-9][0-9]{0,14})")

_c = ledger_checkpoint.c
_newest = select(_c.size, _c.note).where(_c.log == bindparam("log")).order_by(_c.size.desc()).limit(1)
_NEWEST = statement(_newest)
_AT_SIZE = statement(select(_c.size, _c.note).where(_c.log == bindparam("log"), _c.size == bindparam("size")))


class RecordProof(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record (`data`: its canonical bytes in base64url) and the path from its leaf to the root at `size`.

    `checkpoint` is the note signed at that size, where there is one.
    """

    log: str
    seq: int
    size: int
    data: str
    path: list[str]
    checkpoint: str | None


class DisclosureProof(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A disclosure and the path from leaf `index` of `size` to the root that record `sealed_by` states."""

    log: str
    number: int
    sealed_by: int
    index: int
    size: int
    data: str
    path: list[str]


class ConsistencyProof(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An RFC 9162 proof that the log of size `from` begins the log of size `to`."""

    log: str
    first: int = msgspec.field(name="from")
    second: int = msgspec.field(name="to")
    path: list[str]


class Published:
    """One log, as it is published. `folder` is where an export is made; nothing of it stays there."""

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        key: PublicKey,
        clock: Clock,
        folder: Path,
        strangers: Strangers | None = None,
    ) -> None:
        self.strangers = strangers or Strangers(clock)
        self._store = store
        self._ledger = ledger
        self._key = key
        self._clock = clock
        self._folder = folder
        self._making = anyio.Lock()
        self._proving = anyio.Semaphore(_PROVERS)
        self._export: tuple[int, datetime, str] | None = None

    def close(self) -> None:
        """Lets go of the export."""
        if self._export is not None:
            os.close(self._export[0])
            self._export = None

    async def key(self, _scope: Scope) -> Reply:
        """The log's public key."""
        body = write_verifier_key(self._ledger.log, self._key).encode() + b"\n"
        return Reply(body=body, content_type=NOTE, tag=_tag(body))

    async def checkpoint(self, _scope: Scope) -> Reply:
        """The newest signed note. Refused: `no_such_receipt` where none was signed yet."""
        found = await self._store.reading(self._newest)
        if found is None:
            raise Refused(refusal(NO_SUCH_RECEIPT, "No checkpoint was signed yet"))
        return Reply(body=found[1], content_type=NOTE, tag=_tag(found[1]))

    async def export(self, _scope: Scope) -> Reply:
        """The whole log, sealed disclosures included. Its bytes come from a file that has no name any more."""
        async with self._making:
            if self._export is None or self._clock.now() - self._export[1] >= _FRESH:
                await self._make()
            assert self._export is not None
            descriptor, _, tag = self._export
            copy = os.dup(descriptor)
        return Reply(content_type=LINES, file=copy, length=os.fstat(copy).st_size, tag=tag)

    async def record(self, scope: Scope) -> Reply:
        """A record's inclusion, among the records of the newest checkpoint unless a size is asked for."""
        seq, asked = _number(scope["path_params"]["seq"]), _query(scope, "size")
        newest = await self._store.reading(self._newest)
        size = asked["size"] if asked else newest[0] if newest is not None and seq < newest[0] else None
        async with self._proving:
            proof = await self._ledger.prove_record(seq, size)
        records = await self._ledger.records(seq, seq + 1)
        note = await self._store.reading(partial(self._at_size, proof.size))
        return _document(
            RecordProof(
                log=self._ledger.log,
                seq=seq,
                size=proof.size,
                data=b64u.encode(records[0].data),
                path=[b64u.encode(each) for each in proof.path],
                checkpoint=note,
            )
        )

    async def disclosure(self, scope: Scope) -> Reply:
        """A disclosure's inclusion in its batch. Refused: `no_such_receipt`, also while it is not sealed."""
        number = _number(scope["path_params"]["number"])
        async with self._proving:
            proof = await self._ledger.prove_disclosure(number)
        found = await self._ledger.disclosures(number, number + 1)
        return _document(
            DisclosureProof(
                log=self._ledger.log,
                number=number,
                sealed_by=proof.sealed_by,
                index=proof.index,
                size=proof.size,
                data=b64u.encode(found[0].data),
                path=[b64u.encode(each) for each in proof.path],
            )
        )

    async def consistency(self, scope: Scope) -> Reply:
        """That one size's log begins another's. Refused: `no_such_receipt`, `malformed_request`."""
        asked = _query(scope, "from", "to")
        if len(asked) != 2:
            raise Refused(refusal("malformed_request", "from and to are both needed", reason="query"))
        async with self._proving:
            path = await self._ledger.prove_consistency(asked["from"], asked["to"])
        return _document(
            ConsistencyProof(
                log=self._ledger.log,
                first=asked["from"],
                second=asked["to"],
                path=[b64u.encode(each) for each in path],
            )
        )

    def _newest(self, view: Reading) -> tuple[int, bytes] | None:
        row = view.one(_NEWEST, {"log": self._ledger.log})
        return None if row is None else (row[0], bytes(row[1]))

    def _at_size(self, size: int, view: Reading) -> str | None:
        row = view.one(_AT_SIZE, {"log": self._ledger.log, "size": size})
        return None if row is None else bytes(row[1]).decode()

    async def _make(self) -> None:
        path = self._folder / f"export-{os.getpid()}.jsonl"
        now = self._clock.now()
        try:
            standing = await self._ledger.export(path)
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        finally:
            path.unlink(missing_ok=True)
        self.close()
        newest = await self._store.reading(self._newest)
        tag = f"{standing.records}-{standing.sealed}-{0 if newest is None else newest[0]}"
        self._export = (descriptor, now, tag)


def published_routes(published: Published, *, hosts: Iterable[str] | None = LOOPBACK_HOSTS) -> list[Route]:
    """Every published address."""
    found: dict[str, Answerer] = {
        "/key": published.key,
        "/checkpoint": published.checkpoint,
        "/export": published.export,
        "/records/{seq}/proof": published.record,
        "/disclosures/{number}/proof": published.disclosure,
        "/consistency": published.consistency,
    }
    apps = {
        path: Page(answer, published.strangers, "export" if path == "/export" else "read")
        for path, answer in found.items()
    }
    return [
        Route(BASE + path, endpoint=public_app(Edge(app, hosts=hosts, body_cap=0), EVERYBODY))
        for path, app in apps.items()
    ]


def _document(document: msgspec.Struct) -> Reply:
    body = strictjson.encode(document)
    return Reply(body=body, tag=_tag(body))


def _tag(body: bytes) -> str:
    return sha256_hex(body)[:32]


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise Refused(refusal(NO_SUCH_RECEIPT))
    return int(text)


def _query(scope: Scope, *names: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True):
        if name not in names:
            continue
        if name in found or not _NUMBER.fullmatch(value):
            raise Refused(
                refusal("malformed_request", f"{name} is a number that stands once", reason="query", place=name)
            )
        found[name] = int(value)
    return found
