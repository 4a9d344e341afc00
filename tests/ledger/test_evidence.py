"""Evidence in a store, and in the export."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.core.refusal import Misuse, Refused
from sayso.ledger.evidence import put_evidence
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.evidence import JSON, OCTETS
from sayso.ledger.rules.evidence import KEY_SET as KEY_SET_TYPE
from sayso.ledger.rules.evidence import SIGNED as SIGNED_TYPE
from sayso.ledger.rules.evidence import TEXT as TEXT_TYPE
from sayso.ledger.rules.record import Link
from sayso.ledger.rules.verify import verify_export
from sayso.proof.jws import sign_jws
from sayso.store.unit import Store, Unit
from tests.ledger.logs import KEY, KEY_SET, LOG, OTHER_KEY, SIGNED, TEXT, draft, lines_of


def put_all(unit: Unit) -> None:
    put_evidence(unit, LOG, KEY_SET_TYPE, KEY_SET.data)
    put_evidence(unit, LOG, SIGNED_TYPE, SIGNED.data, verified_by=KEY_SET.sha256)
    put_evidence(unit, LOG, TEXT_TYPE, TEXT.data)


@pytest.mark.req("GTW-052")
@pytest.mark.anyio
async def test_an_export_carries_what_its_receipts_refer_to(store: Store, ledger: Ledger, tmp_path: Path) -> None:
    """The signed document, its key set and the text; not what nobody refers to."""
    await store.unit(put_all)
    await store.unit(lambda unit: put_evidence(unit, LOG, OCTETS, b"\xff\x00"))
    await ledger.append(draft(1, Link("mandate", SIGNED.sha256), Link("text", TEXT.sha256)))
    await ledger.export(tmp_path / "log.jsonl", with_evidence=True)
    verdict = verify_export(lines_of(tmp_path / "log.jsonl"), key=KEY.public)
    assert (verdict.evidence, verdict.signed, verdict.absent) == (3, 1, 0)


@pytest.mark.anyio
async def test_an_export_without_evidence_carries_none(store: Store, ledger: Ledger, tmp_path: Path) -> None:
    """Documents may hold what a reader of the chain need not see."""
    await store.unit(put_all)
    await ledger.append(draft(1, Link("mandate", SIGNED.sha256)))
    await ledger.export(tmp_path / "log.jsonl")
    assert b'"evidence":{' not in (tmp_path / "log.jsonl").read_bytes()


@pytest.mark.req("GTW-052")
@pytest.mark.anyio
async def test_a_forged_document_in_the_store_is_found_by_verify(store: Store, ledger: Ledger) -> None:
    """Keeping looks at the shape only; verifying looks at the signature."""
    forged = sign_jws({"limit": "1.00"}, OTHER_KEY, typ="mandate+jwt").encode()

    def put(unit: Unit) -> str:
        put_evidence(unit, LOG, KEY_SET_TYPE, KEY_SET.data)
        return put_evidence(unit, LOG, SIGNED_TYPE, forged, verified_by=KEY_SET.sha256)

    await ledger.append(draft(1, Link("mandate", await store.unit(put))))
    with pytest.raises(Refused) as refused:
        await ledger.verify(KEY.public)
    assert refused.value.refusal.reason == "evidence"


def test_the_same_document_is_kept_once(store: Store) -> None:
    """Its hash is its key."""
    store.run(put_all)
    store.run(put_all)


@pytest.mark.parametrize(
    ("media_type", "data", "verified_by", "error"),
    [
        (TEXT_TYPE, SIGNED.data, KEY_SET.sha256, Misuse),
        (SIGNED_TYPE, TEXT.data, None, Misuse),
        (JSON, KEY_SET.data, None, Misuse),
        (SIGNED_TYPE, SIGNED.data, TEXT.sha256, Misuse),
        (SIGNED_TYPE, SIGNED.data, None, Refused),
        (TEXT_TYPE, TEXT.data, KEY_SET.sha256, Refused),
        (TEXT_TYPE, b"", None, Refused),
        (OCTETS, b"\xff" * 300_000, None, Refused),
    ],
)
def test_evidence_that_could_not_be_verified_later_is_not_kept(
    store: Store, media_type: str, data: bytes, verified_by: str | None, error: type[Exception]
) -> None:
    """The media type is the bytes' own, and a signed document names a key set that is there."""
    store.run(lambda unit: put_evidence(unit, LOG, TEXT_TYPE, TEXT.data))
    with pytest.raises(error):
        store.run(lambda unit: put_evidence(unit, LOG, media_type, data, verified_by=verified_by))


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b'{"a":1}', JSON),
        (b"[1]", JSON),
        (b'{"a":1,"a":2}', TEXT_TYPE),
        (b'{"keys":[]}', KEY_SET_TYPE),
        (b'{"keys":[{"kty":"RSA"}]}', KEY_SET_TYPE),
        (b'{"keys":5}', JSON),
        (b'{"keys":[5]}', JSON),
        (b"[not json", TEXT_TYPE),
        (b"a.b.c", TEXT_TYPE),
        (b"\xff", OCTETS),
    ],
)
def test_a_media_type_follows_from_the_bytes(store: Store, data: bytes, media_type: str) -> None:
    """One rule decides it, when a document is kept and when it is verified."""
    assert len(store.run(lambda unit: put_evidence(unit, LOG, media_type, data))) == 43
