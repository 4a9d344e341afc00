"""Receipts as bytes: one spelling, hashed as stored, bounded, and strict both ways."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from hashlib import sha256

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from sayso.core import b64u
from sayso.core.refusal import Misuse, Refused
from sayso.ledger.rules.record import (
    Draft,
    Link,
    hash_record,
    read_disclosure,
    read_record,
    write_disclosure,
    write_record,
)
from sayso.ledger.rules.wire import MAX_BODY, MAX_LINKS

AT = datetime(2026, 10, 13, 13, 0, 0, 7, tzinfo=UTC)
HASH = "n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"
FULL = Draft(
    kind="consent.given",
    actor="person:ana",
    article="II",
    inputs_sha256=HASH,
    output_sha256=HASH,
    links=(Link("mandate", HASH), Link("offer", HASH)),
    body={"mode": "human_present", "evidence": 1},
)

names = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=64)
values = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=20) | st.floats(-1e9, 1e9)
hashes = st.binary(min_size=32, max_size=32).map(b64u.encode)
drafts = st.builds(
    Draft,
    kind=st.sampled_from(["act.done", "consent.asked", "x_1.y_2.z"]),
    actor=names,
    article=st.none() | names,
    inputs_sha256=st.none() | hashes,
    output_sha256=st.none() | hashes,
    links=st.lists(st.builds(Link, role=st.just("offer"), sha256=hashes), max_size=3).map(tuple),
    body=st.dictionaries(st.text(max_size=8).filter(lambda name: name != "secret"), values, max_size=4),
)


@pytest.mark.req("GTW-050")
def test_a_record_has_every_member_in_canonical_order() -> None:
    """The bytes are RFC 8785, spelled out here once in full."""
    record = write_record(FULL, log="home", at=AT, seq=7, prev=b"\x01" * 32)
    assert record.data == (
        b'{"actor":"person:ana","article":"II","at":"2026-10-13T13:00:00.000007Z",'
        b'"body":{"evidence":1,"mode":"human_present"},'
        b'"inputs_sha256":"n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg","kind":"consent.given",'
        b'"links":[{"role":"mandate","sha256":"n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"},'
        b'{"role":"offer","sha256":"n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg"}],"log":"home",'
        b'"output_sha256":"n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg",'
        b'"prev":"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE","seq":7,"v":1}'
    )


def test_a_bare_record_leaves_absent_members_out() -> None:
    """Nothing is written as null or empty, so no receipt has two spellings."""
    record = write_record(Draft(kind="act.done", actor="a"), log="home", at=AT, seq=0, prev=bytes(32))
    assert record.data == (
        b'{"actor":"a","at":"2026-10-13T13:00:00.000007Z","kind":"act.done","log":"home",'
        b'"prev":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","seq":0,"v":1}'
    )


def test_the_hash_is_over_a_prefix_of_its_own_and_the_stored_bytes() -> None:
    """A hash taken for another purpose can never be passed off as a record's."""
    record = write_record(FULL, log="home", at=AT, seq=7, prev=bytes(32))
    assert record.hash == sha256(b"sayso/receipt/v1\n" + record.data).digest() == hash_record(record.data)


@given(drafts)
def test_what_is_written_is_canonical_and_read_back_the_same(draft: Draft) -> None:
    """The fast spelling equals the reference package's, and reading gives the very record that was written."""
    record = write_record(draft, log="home", at=AT, seq=3, prev=b"\x02" * 32)
    again = read_record(record.data)
    assert record.data == rfc8785.dumps(_members(again))
    assert again == record


@given(drafts)
def test_a_disclosure_is_read_back_the_same(draft: Draft) -> None:
    """Its number stands in its bytes, and neither seq nor prev does."""
    disclosure = write_disclosure(draft, log="home", at=AT, number=12)
    assert read_disclosure(disclosure.data) == disclosure
    assert disclosure.number == 12


def _members(record: object) -> dict[str, object]:
    stated = {
        "actor": record.actor,
        "article": record.article,
        "at": record.at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "body": dict(record.body) or None,
        "inputs_sha256": record.inputs_sha256,
        "kind": record.kind,
        "links": [{"role": link.role, "sha256": link.sha256} for link in record.links] or None,
        "log": record.log,
        "output_sha256": record.output_sha256,
        "prev": b64u.encode(record.prev),
        "seq": record.seq,
        "v": 1,
    }
    return {name: value for name, value in stated.items() if value is not None}


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"kind": "done"}, "$.kind"),
        ({"kind": "Act.done"}, "$.kind"),
        ({"kind": "act.done\n"}, "$.kind"),
        ({"kind": "a." + "b" * 80}, "$.kind"),
        ({"kind": 5}, "$.kind"),
        ({"actor": ""}, "$.actor"),
        ({"actor": "a\nb"}, "$.actor"),
        ({"actor": "a\n"}, "$.actor"),
        ({"actor": "a" * 257}, "$.actor"),
        ({"actor": "\ud800"}, None),
        ({"article": ""}, "$.article"),
        ({"inputs_sha256": HASH[:-1]}, "$.inputs_sha256"),
        ({"inputs_sha256": HASH[:-1] + "h"}, "$.inputs_sha256"),
        ({"output_sha256": HASH + "\n"}, "$.output_sha256"),
        ({"links": (Link("", HASH),)}, "$.links[0].role"),
        ({"links": (Link("offer", HASH), Link("offer", "x"))}, "$.links[1].sha256"),
        ({"links": (Link("offer", HASH),) * (MAX_LINKS + 1)}, "$.links"),
        ({"body": {"n": 2**53}}, "$.body"),
        ({"body": {"n": float("nan")}}, "$.body"),
        ({"body": {"n": object()}}, "$.body"),
        ({"body": {"n": "x" * MAX_BODY}}, "$.body"),
        ({"body": {"n": [[[[[[[[[1]]]]]]]]]}}, "$.body"),
        ({"body": {"who": {"password": "x"}}}, "$.body"),
    ],
)
def test_a_malformed_draft_is_refused_at_its_place(changes: dict[str, object], place: str | None) -> None:
    """Nothing malformed is chained, and the refusal names the member."""
    draft = Draft(**{"kind": "act.done", "actor": "a", **changes})
    with pytest.raises(Refused) as refused:
        write_record(draft, log="home", at=AT, seq=0, prev=bytes(32))
    assert (refused.value.refusal.code, refused.value.refusal.place) == ("malformed_receipt", place)


def test_a_word_that_names_a_secret_may_stand_in_a_text() -> None:
    """Only a member's name is looked at: texts are the writer's business."""
    draft = Draft(kind="act.done", actor="a", body={"note": '"password":'})
    assert write_record(draft, log="home", at=AT, seq=0, prev=bytes(32)).body == {"note": '"password":'}


def test_a_receipt_is_dated_in_utc() -> None:
    """A local or naive time would be hashed as if it were UTC."""
    with pytest.raises(Misuse):
        write_record(FULL, log="home", at=datetime(2026, 1, 1), seq=0, prev=bytes(32))


GOOD = write_record(FULL, log="home", at=AT, seq=7, prev=bytes(32)).data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"{}",
        GOOD + b" ",
        GOOD.replace(b'"seq":7', b'"seq": 7'),
        GOOD.replace(b'"seq":7', b'"seq":7,"seq":7'),
        GOOD.replace(b'"seq":7', b'"seq":7.0'),
        GOOD.replace(b'"seq":7', b'"seq":-1'),
        GOOD.replace(b'"v":1', b'"v":2'),
        GOOD.replace(b'"v":1', b'"v":1,"w":1'),
        GOOD.replace(b"person", b"\\u0070erson"),
        GOOD.replace(b'"article":"II"', b'"article":null'),
        GOOD.replace(b'"body":{"evidence":1,"mode":"human_present"}', b'"body":{}'),
        GOOD.replace(b'{"evidence":1,', b'{"evidence":1,"evidence":1,'),
        GOOD.replace(b'{"evidence":1,', b'{"evidence":1.0,'),
        GOOD.replace(b'{"evidence":1,', b'{"evidence": 1,'),
        GOOD.replace(b'"body":{"evidence":1,"mode":"human_present"}', b'"body":[1]'),
        GOOD.replace(b'"body":{"evidence":1,"mode":"human_present"}', b'"body":1'),
        GOOD.replace(b"2026-10-13", b"2026-02-30"),
        GOOD.replace(b"000007Z", b"00007Z"),
        GOOD.replace(b"AAAAA", b"AAAA="),
        GOOD.replace(b'"seq":7', b'"leaf":7,"seq":7'),
        write_disclosure(FULL, log="home", at=AT, number=1).data,
        b'{"actor":"' + b"a" * 40_000 + b'"}',
    ],
)
def test_bytes_with_a_second_spelling_are_refused(data: bytes) -> None:
    """Whoever reads a record sees what was hashed: duplicates, spaces, escapes and nulls never pass."""
    with pytest.raises(Refused) as refused:
        read_record(data)
    assert refused.value.refusal.code == "malformed_receipt"


@given(
    st.binary(max_size=200)
    | st.integers(0, len(GOOD) - 1).flatmap(
        lambda at: st.binary(min_size=1, max_size=3).map(lambda b: GOOD[:at] + b + GOOD[at + 1 :])
    )
)
def test_nothing_but_a_record_or_a_refusal_comes_out(data: bytes) -> None:
    """The funnel holds for any bytes, and what passes it has exactly those bytes."""
    for read in (read_record, read_disclosure):
        with contextlib.suppress(Refused):
            assert read(data).data == data
