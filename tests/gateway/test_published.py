"""What is published of the receipts: by anybody, with nothing but the public key, and never a write."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from sayso.core import b64u, strictjson
from sayso.core.clock import ManualClock
from sayso.core.gcra import Limit
from sayso.gateway.published import BASE, Published, published_routes
from sayso.gateway.strangers import Strangers
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.batch import read_seal
from sayso.ledger.rules.checkpoint import verify_signed_checkpoint
from sayso.ledger.rules.record import Draft, Link
from sayso.ledger.rules.wire import read_wire
from sayso.net.listen import serving
from sayso.proof.hashes import sha256_b64u
from sayso.proof.keys import PrivateKey
from sayso.proof.merkle import leaf_hash, verify_consistency, verify_inclusion
from sayso.proof.note import write_verifier_key
from sayso.store.open import open_store
from sayso.store.unit import Store, Unit
from sayso.testing.postgres import postgres, postgres_server
from sayso.testing.store import START, clock, fresh_store, location

__all__ = ("clock", "location", "postgres", "postgres_server")

pytestmark = pytest.mark.anyio

LOG = "sayso/test"
KEY = PrivateKey.from_seed(bytes(range(32)))
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "verify-receipts.md"
(SCRIPT,) = re.findall(r"^```python\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Notary:
    """A log that is published, and somebody without a key."""

    store: Store
    ledger: Ledger
    clock: ManualClock
    published: Published
    http: httpx.AsyncClient

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.http.get(BASE + path, headers=headers)

    async def write(self, records: int = 3, disclosures: int = 0) -> None:
        for number in range(records):
            await self.ledger.append(Draft(kind="test.done", actor="ada", body={"number": number}))
        for number in range(disclosures):
            await self.ledger.disclose(Draft(kind="test.read", actor="ada", body={"number": number}))
        await self.ledger.seal()


@asynccontextmanager
async def open_notary(folder: Path, store: Store | None = None, **limits: Limit) -> AsyncIterator[Notary]:
    clock = ManualClock(START)
    with store or fresh_store(folder, clock) as opened:
        ledger = Ledger(opened, LOG, clock)
        published = Published(opened, ledger, KEY.public, clock, folder, Strangers(clock, **limits))
        async with (
            serving(Starlette(routes=list(published_routes(published)))) as address,
            httpx.AsyncClient(base_url=address.url, timeout=None) as http,
        ):
            yield Notary(opened, ledger, clock, published, http)
        published.close()


def paths(document: object) -> list[bytes]:
    return [b64u.decode(each) for each in document["path"]]  # type: ignore[index]


@pytest.mark.req("GTW-052")
async def test_a_stranger_verifies_what_is_served(tmp_path: Path, location: str) -> None:
    """The script of the documents, in its own process, with the served key, export and checkpoint and nothing else."""
    async with open_notary(tmp_path, open_store(location, ManualClock(START))) as notary:
        await notary.write(records=40, disclosures=7)
        await notary.ledger.checkpoint(KEY)
        kept = await notary.get("/checkpoint")
        await notary.write(records=5)
        await notary.ledger.checkpoint(KEY)
        key, export = await notary.get("/key"), await notary.get("/export")
        for name, answer in (("log.key", key), ("log.jsonl", export), ("kept.note", kept)):
            assert answer.status_code == 200
            (tmp_path / name).write_bytes(answer.content)
        (tmp_path / "verify.py").write_text(SCRIPT, encoding="utf-8")
        command = [sys.executable, "-I", "verify.py", "log.jsonl", "log.key", "kept.note"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "receipts: 53 verified, chain intact")
        assert key.text == write_verifier_key(LOG, KEY.public) + "\n"
        assert int(export.headers["content-length"]) == len(export.content)
        assert list(tmp_path.glob("export-*")) == []


@pytest.mark.req("GTW-052")
async def test_the_checkpoint_is_the_newest_signed_one(tmp_path: Path) -> None:
    """None before the first; then each as it is signed, the same bytes for everybody, once a reader has it."""
    async with open_notary(tmp_path) as notary:
        await notary.write()
        none = await notary.get("/checkpoint")
        assert (none.status_code, none.json()["error"]["code"]) == (404, "no_such_receipt")
        first = await notary.ledger.checkpoint(KEY)
        assert (await notary.get("/checkpoint")).content == first
        await notary.write()
        assert (await notary.get("/checkpoint")).content == first
        second = await notary.ledger.checkpoint(KEY)
        answer = await notary.get("/checkpoint")
        assert (answer.content, answer.headers["content-type"]) == (second, "text/plain; charset=utf-8")
        assert verify_signed_checkpoint(answer.content, log=LOG, key=KEY.public).size == 6
        same = await notary.get("/checkpoint", **{"if-none-match": answer.headers["etag"]})
        assert (same.status_code, same.content) == (304, b"")


@pytest.mark.req("GTW-052")
async def test_an_export_is_made_at_most_every_ten_seconds(tmp_path: Path) -> None:
    """In between everybody reads the same bytes; then what has come is in it."""
    async with open_notary(tmp_path) as notary:
        await notary.write()
        first = await notary.get("/export")
        await notary.write()
        assert (await notary.get("/export")).content == first.content
        notary.clock.advance(timedelta(seconds=9))
        assert (await notary.get("/export")).content == first.content
        notary.clock.advance(timedelta(seconds=1))
        later = await notary.get("/export")
        assert later.content.count(b'{"record":') == 6
        assert later.headers["etag"] != first.headers["etag"]


@pytest.mark.req("GTW-052")
async def test_no_document_is_published(tmp_path: Path) -> None:
    """Signed documents name people and prices: receipts refer to them by hash, and the hash is what strangers get."""
    async with open_notary(tmp_path) as notary:
        document = b"Ada buys an oil change for 89.27"

        def write(unit: Unit) -> None:
            digest = notary.ledger.put_evidence_in(unit, "text/plain; charset=utf-8", document)
            link = Link(role="offer", sha256=digest)
            notary.ledger.append_in(unit, Draft(kind="test.done", actor="ada", links=(link,)))

        await notary.store.unit(write)
        export = (await notary.get("/export")).content
        assert (b64u.encode(document).encode() in export, sha256_b64u(document).encode() in export) == (False, True)


@pytest.mark.req("GTW-052", "GTW-051")
async def test_a_record_is_proved_under_the_newest_checkpoint(tmp_path: Path) -> None:
    """With the note itself; at another size where one is asked for."""
    async with open_notary(tmp_path) as notary:
        await notary.write(records=11)
        note = await notary.ledger.checkpoint(KEY)
        await notary.write(records=2)
        point = verify_signed_checkpoint(note, log=LOG, key=KEY.public)
        for seq in (0, 5, 10):
            proof = (await notary.get(f"/records/{seq}/proof")).json()
            assert (proof["log"], proof["seq"], proof["size"], proof["checkpoint"]) == (LOG, seq, 11, note.decode())
            data = b64u.decode(proof["data"])
            assert read_wire(data).seq == seq
            verify_inclusion(leaf_hash(data), seq, 11, paths(proof), point.root)
        later = (await notary.get("/records/12/proof")).json()
        assert (later["size"], later["checkpoint"]) == (13, None)
        assert (await notary.get("/records/0/proof?size=1")).json()["path"] == []
        for bad in ("/records/13/proof", "/records/0/proof?size=14", "/records/5/proof?size=5", "/records/-1/proof"):
            assert ((await notary.get(bad)).status_code, (await notary.get(bad)).json()["error"]["code"]) == (
                404, "no_such_receipt",
            )  # fmt: skip


@pytest.mark.req("GTW-051", "GTW-052")
async def test_a_disclosure_is_proved_in_its_batch(tmp_path: Path) -> None:
    """Against the root in the record that seals it; unsealed it has no proof yet."""
    async with open_notary(tmp_path) as notary:
        await notary.write(records=2, disclosures=5)
        proof = (await notary.get("/disclosures/3/proof")).json()
        (sealed,) = await notary.ledger.records(proof["sealed_by"], proof["sealed_by"] + 1)
        seal = read_seal(read_wire(sealed.data))
        data = b64u.decode(proof["data"])
        assert (read_wire(data).leaf, seal.size) == (3, 5)
        verify_inclusion(leaf_hash(data), proof["index"], proof["size"], paths(proof), b64u.decode(seal.root))
        await notary.ledger.disclose(Draft(kind="test.read", actor="ada"))
        assert (await notary.get("/disclosures/5/proof")).status_code == 404


@pytest.mark.req("GTW-052")
async def test_two_sizes_are_proved_consistent(tmp_path: Path) -> None:
    """Between two signed roots; sizes that there are not have no proof."""
    async with open_notary(tmp_path) as notary:
        await notary.write(records=6)
        old = verify_signed_checkpoint(await notary.ledger.checkpoint(KEY), log=LOG, key=KEY.public)
        await notary.write(records=7)
        new = verify_signed_checkpoint(await notary.ledger.checkpoint(KEY), log=LOG, key=KEY.public)
        proof = (await notary.get("/consistency?from=6&to=13")).json()
        assert (proof["from"], proof["to"]) == (6, 13)
        verify_consistency(6, 13, paths(proof), old.root, new.root)
        assert [(await notary.get(f"/consistency?{query}")).status_code for query in (
            "from=0&to=3", "from=4&to=3", "from=1&to=14", "from=1", "",
            "from=1&to=2&to=3", "from=01&to=2", "from=a&to=b",
        )] == [404, 404, 404, 400, 400, 400, 400, 400]  # fmt: skip


@pytest.mark.req("GTW-052")
async def test_a_size_beyond_the_log_costs_nothing(tmp_path: Path) -> None:
    """Refused before a page is read: otherwise one address keeps a reader busy for as long as the number is large."""
    async with open_notary(tmp_path) as notary:
        await notary.write()
        for path in ("/records/0/proof?size=5000000", "/consistency?from=1&to=5000000"):
            error = (await notary.get(path)).json()["error"]
            # What was read and did not suffice would be told apart: "there are 2 records, not 5000000".
            assert (error["code"], "there are" in error["message"]) == ("no_such_receipt", False)


@pytest.mark.req("GTW-052")
async def test_reading_leaves_no_trace_in_the_log(tmp_path: Path) -> None:
    """Nothing that anybody reads or asks for changes the log that they read."""
    async with open_notary(tmp_path) as notary:
        await notary.write(records=2, disclosures=2)
        before = await notary.ledger.standing()
        for path in ("/key", "/checkpoint", "/export", "/records/0/proof", "/disclosures/0/proof", "/records/9/proof"):
            await notary.get(path)
        assert await notary.ledger.standing() == before


@pytest.mark.req("GTW-052", "GTW-020")
async def test_who_comes_too_often_waits(tmp_path: Path) -> None:
    """As long as it is told, by address; whole logs are counted apart."""
    minute = timedelta(minutes=1)
    async with open_notary(tmp_path, read=Limit(minute, 3), export=Limit(minute, 1)) as notary:
        await notary.write()
        assert [(await notary.get("/key")).status_code for _ in range(4)] == [200, 200, 200, 429]
        assert (await notary.get("/export")).status_code == 200
        again = await notary.get("/export")
        assert (again.status_code, again.headers["retry-after"]) == (429, "60")
        assert again.json()["error"]["code"] == "too_many_requests"
        limited = await notary.get("/key")
        notary.clock.advance(timedelta(seconds=int(limited.headers["retry-after"])))
        assert (await notary.get("/key")).status_code == 200


@pytest.mark.req("GTW-020")
def test_addresses_are_told_apart_and_forgotten() -> None:
    """IPv6 by its network; memory is bounded, however many addresses there are."""
    clock = ManualClock(START)
    strangers = Strangers(clock, read=Limit(timedelta(minutes=1), 1))
    assert strangers.admit("2001:db8::1", "read") is None
    assert strangers.admit("2001:db8::2", "read") == 60
    assert strangers.admit("2001:db8:0:1::1", "read") is None
    assert strangers.admit("::ffff:192.0.2.1", "read") is None
    assert strangers.admit("192.0.2.1", "read") == 60
    for number in range(5000):
        strangers.admit(f"10.0.{number // 256}.{number % 256}", "read")
    assert len(strangers._seen) <= 4096


@pytest.mark.req("GTW-052", "GTW-022")
async def test_what_is_no_read_is_refused(tmp_path: Path) -> None:
    """Other methods, a body, another host, a web page's request."""
    async with open_notary(tmp_path) as notary:
        await notary.write()
        post = await notary.http.post(f"{BASE}/key")
        assert (post.status_code, post.headers["allow"]) == (405, "GET")
        body = await notary.http.request("GET", f"{BASE}/key", content=b"x")
        host = await notary.get("/key", host="evil.example")
        page = await notary.get("/key", origin="https://evil.example")
        assert [each.status_code for each in (body, host, page)] == [413, 403, 403]
        for each in (post, body, host, page):
            assert strictjson.parse(each.content)["error"]["code"]  # type: ignore[index, call-overload]
