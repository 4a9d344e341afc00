"""Verification offline: what is whole passes, and whatever was changed, dropped, moved or added is found and named."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.core import b64u
from sayso.core.refusal import Refused
from sayso.ledger.rules import export
from sayso.ledger.rules.batch import seal_draft
from sayso.ledger.rules.checkpoint import SignedCheckpoint, verify_signed_checkpoint
from sayso.ledger.rules.evidence import describe
from sayso.ledger.rules.record import Link, write_disclosure
from sayso.ledger.rules.verify import Verdict, verify_export
from sayso.proof.jws import sign_jws
from sayso.proof.note import sign_note
from tests.ledger.logs import (
    KEY,
    KEY_SET,
    LOG,
    OTHER_KEY,
    SIGNED,
    START_AT,
    TEXT,
    PureLog,
    draft,
    full_log,
)

FULL = full_log()
LINES = FULL.lines()
TEXT_OF = b"".join(LINES)


def verdict_of(lines: list[bytes], **options: object) -> object:
    """The verdict, or what was found and where."""
    try:
        return verify_export(lines, key=KEY.public, **options)
    except Refused as refused:
        found = refused.refusal
        if found.code not in ("receipts_broken", "receipts_not_judged", "not_an_export"):
            raise
        return found.reason or found.code, found.place


def cut(data: bytes) -> list[bytes]:
    """Lines as a file gives them: by line feeds alone."""
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def index_of(start: bytes, number: int = 0) -> int:
    return [at for at, line in enumerate(LINES) if line.startswith(start)][number]


def record_line(seq: int) -> int:
    return index_of(b'{"record":', seq)


def point(which: int) -> SignedCheckpoint:
    return verify_signed_checkpoint(FULL.notes[which], log=LOG, key=KEY.public)


@pytest.mark.req("GTW-052")
def test_a_whole_log_is_intact() -> None:
    """Everything in it is counted, and the verdict says what it rests on."""
    assert verdict_of(LINES) == Verdict(
        log=LOG,
        head=b64u.encode(FULL.tip.head),
        records=12,
        disclosures=8,
        checkpoint=SignedCheckpoint(
            log=LOG,
            size=12,
            root=FULL.tip.frontier.root(),
            head=FULL.tip.head,
            at=datetime(2026, 10, 13, 13, 0, 12, tzinfo=UTC),
        ),
        kept=None,
        evidence=3,
        signed=1,
        absent=0,
    )


def test_a_log_without_a_checkpoint_is_said_to_rest_on_none() -> None:
    """A chain that is whole in itself may still have lost its end; the verdict does not hide that."""
    log = PureLog(evidence=False)
    log.append(draft(), draft())
    verdict = verdict_of(log.lines())
    assert isinstance(verdict, Verdict)
    assert (verdict.records, verdict.checkpoint, verdict.covered) == (2, None, 0)


def test_records_after_the_checkpoint_are_not_said_to_be_covered() -> None:
    """Only what was signed counts as covered."""
    log = PureLog(evidence=False)
    log.append(draft())
    log.checkpoint()
    log.append(draft(), draft())
    verdict = verdict_of(log.lines())
    assert isinstance(verdict, Verdict)
    assert (verdict.records, verdict.covered) == (3, 1)


@pytest.mark.req("GTW-052")
@pytest.mark.parametrize("seq", [0, 1, 4, 7, 11])
def test_any_changed_byte_of_a_record_is_found_and_the_record_named(seq: int) -> None:
    """First, middle, sealing and last record: every byte of the line, with two ways to change it."""
    at = record_line(seq)
    line = LINES[at]
    start = len(export.RECORD_START)
    for position in range(start, len(line) - 2):
        for mask in (0x01, 0x20):
            changed = line[:position] + bytes([line[position] ^ mask]) + line[position + 1 :]
            found = verdict_of(cut(b"".join([*LINES[:at], changed, *LINES[at + 1 :]])))
            assert found[1] == f"record {seq}", (position, changed, found)


@pytest.mark.req("GTW-052")
@pytest.mark.parametrize("at", range(len(LINES)))
def test_any_changed_byte_of_any_line_is_found(at: int) -> None:
    """Headers, disclosures, checkpoints, evidence, counts and line feeds too: no byte of an export is idle."""
    line = LINES[at]
    for position in range(0, len(line), 1 if at in (0, len(LINES) - 1) else 5):
        changed = line[:position] + bytes([line[position] ^ 0x01]) + line[position + 1 :]
        found = verdict_of(cut(b"".join([*LINES[:at], changed, *LINES[at + 1 :]])))
        assert not isinstance(found, Verdict), (position, changed)


@pytest.mark.req("GTW-052")
@pytest.mark.parametrize("seq", range(12))
def test_a_dropped_record_is_named(seq: int) -> None:
    """Its number is missing, wherever it stood."""
    at = record_line(seq)
    assert verdict_of(LINES[:at] + LINES[at + 1 :])[1] in (f"record {seq}", f"line {at + 1}")


def test_a_dropped_record_in_the_middle_is_said_to_be_missing() -> None:
    """The message tells a missing record from a changed one."""
    at = record_line(6)
    assert verdict_of(LINES[:at] + LINES[at + 1 :]) == ("missing", "record 6")


def test_two_records_in_the_wrong_order_are_found() -> None:
    """The first that stands out of order is named."""
    lines = list(LINES)
    a, b = record_line(5), record_line(6)
    lines[a], lines[b] = lines[b], lines[a]
    assert verdict_of(lines) == ("missing", "record 5")


def test_a_record_twice_is_found() -> None:
    """A copy slipped in stands where the next one belongs."""
    at = record_line(6)
    assert verdict_of([*LINES[: at + 1], *LINES[at:]]) == ("order", "record 7")


def test_an_inserted_record_is_found_even_if_it_fits_the_one_before() -> None:
    """A forger can link his record to what is there, but what follows does not link to his."""
    forged = PureLog()
    forged.append(*(draft(number) for number in range(3)))
    forged.batch(draft(number) for number in range(100, 105))
    forged.append(draft(3, Link("mandate", SIGNED.sha256), Link("text", TEXT.sha256)), draft(66))
    at = record_line(5)
    assert verdict_of([*LINES[:at], export.write_record_line(forged.records[5].data), *LINES[at:]]) == (
        "order",
        "record 6",
    )


def test_a_record_replaced_by_one_that_fits_is_named_by_the_next() -> None:
    """The record after it names another hash, and the one after that vouches for the naming."""
    forged = PureLog()
    forged.append(*(draft(number) for number in range(3)))
    forged.batch(draft(number) for number in range(100, 105))
    forged.append(draft(3, Link("mandate", SIGNED.sha256), Link("text", TEXT.sha256)), draft(66))
    at = record_line(5)
    lines = [*LINES[:at], export.write_record_line(forged.records[5].data), *LINES[at + 1 :]]
    assert verdict_of(lines) == ("changed", "record 5")


@pytest.mark.req("GTW-052")
def test_a_cut_tail_is_found_by_a_checkpoint_kept_elsewhere() -> None:
    """The shortened log is whole in itself; the kept note is what shows that it went further."""
    short = PureLog()
    short.append(*(draft(number) for number in range(3)))
    assert isinstance(verdict_of(short.lines()), Verdict)
    assert verdict_of(short.lines(), kept=FULL.notes[0]) == ("cut", "record 3")


def test_a_rewritten_log_is_found_by_a_checkpoint_kept_elsewhere() -> None:
    """Every link of the new chain fits; the root that was signed does not."""
    other = PureLog()
    other.append(*(draft(number) for number in range(50, 60)))
    assert isinstance(verdict_of(other.lines()), Verdict)
    assert verdict_of(other.lines(), kept=FULL.notes[0]) == ("checkpoint", "record 4")


@pytest.mark.req("GTW-052")
@pytest.mark.parametrize("which", [0, 1])
def test_a_checkpoint_of_this_log_is_consistent_with_it(which: int) -> None:
    """An older note proves that the log only grew since."""
    verdict = verdict_of(LINES, kept=FULL.notes[which])
    assert isinstance(verdict, Verdict)
    assert verdict.kept == point(which)


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"\xff",
        FULL.notes[0].replace(b"head ", b"Head "),
        sign_note("maple.example/log\n5\nAAAA\n", LOG, KEY),
        PureLog(key=OTHER_KEY).checkpoint(),
        PureLog("other.example").checkpoint(),
    ],
)
def test_a_kept_checkpoint_that_is_not_of_this_log_and_key_is_no_judgement(note: bytes) -> None:
    """Somebody else's note says nothing about this log, neither good nor bad."""
    assert verdict_of(LINES, kept=note) == ("receipts_not_judged", None)


def test_a_checkpoint_signed_by_another_key_is_found() -> None:
    """The key that was published decides, not whoever signed."""
    log = PureLog(key=OTHER_KEY)
    log.append(draft())
    log.checkpoint()
    assert verdict_of(log.lines()) == ("line", "line 3")


def test_a_checkpoint_over_other_records_is_found() -> None:
    """A true signature over another history does not fit this one."""
    log, other = PureLog(), PureLog()
    log.append(draft(1), draft(2))
    other.append(draft(1), draft(3))
    log.notes.append(other.checkpoint())
    log.body.append(export.write_checkpoint_line(log.notes[-1].decode()))
    assert verdict_of(log.lines()) == ("checkpoint", "record 1")


def test_a_checkpoint_with_a_foreign_root_and_the_right_head_is_found() -> None:
    """The root is compared, not only the head."""
    log = PureLog()
    log.append(draft(1), draft(2))
    head, root = b64u.encode(log.tip.head), b64encode(bytes(32)).decode()
    text = f"{LOG}\n2\n{root}\nhead {head}\ntime 2026-10-13T13:00:00.000000Z\n"
    log.notes.append(sign_note(text, LOG, KEY))
    log.body.append(export.write_checkpoint_line(log.notes[-1].decode()))
    assert verdict_of(log.lines()) == ("checkpoint", "record 1")


@pytest.mark.req("GTW-051")
@pytest.mark.parametrize("number", range(8))
def test_a_dropped_disclosure_is_found(number: int) -> None:
    """Numbers run on from batch to batch, so a gap shows even where the seal would be forged to fit."""
    at = index_of(b'{"disclosure":', number)
    found = verdict_of(LINES[:at] + LINES[at + 1 :])
    assert found[1] in (f"disclosure {number}", "record 3", "record 9")


def test_a_changed_disclosure_is_found_by_the_batchs_root() -> None:
    """The record that seals it states the root over its bytes."""
    at = index_of(b'{"disclosure":', 2)
    changed = LINES[at].replace(b"hold_slot", b"hold_slut")
    assert verdict_of([*LINES[:at], changed, *LINES[at + 1 :]]) == ("batch", "record 3")


def test_disclosures_without_their_seal_are_found() -> None:
    """Leaves that no record seals prove nothing, and so do not pass."""
    log = PureLog()
    log.append(draft())
    leaf = write_disclosure(draft(), log=LOG, at=START_AT, number=0).data
    log.body.append(export.write_disclosure_line(leaf))
    assert verdict_of(log.lines()) == ("batch", "record 1")
    log.append(draft())
    assert verdict_of(log.lines()) == ("batch", "record 1")


def test_a_seal_over_leaves_that_skip_a_number_is_found() -> None:
    """The chain is in order and the root fits; the numbering is what was broken."""
    log = PureLog()
    leaf = write_disclosure(draft(), log=LOG, at=START_AT, number=1).data
    log.body.append(export.write_disclosure_line(leaf))
    log.append(seal_draft(1, [leaf]))
    assert verdict_of(log.lines()) == ("missing", "disclosure 0")


def test_receipts_of_another_log_are_found() -> None:
    """A record carries its log's name, so one log's receipts are no other's."""
    log = PureLog("other.example")
    log.append(draft())
    lines = [export.write_header(LOG, with_evidence=True), *log.lines()[1:]]
    assert verdict_of(lines) == ("log", "record 0")


@pytest.mark.req("GTW-052")
def test_a_signed_document_that_its_key_set_does_not_verify_is_found() -> None:
    """The hash is right and linked; the signature is by a stranger."""
    forged = describe(sign_jws({"limit": "100.00"}, OTHER_KEY, typ="mandate+jwt").encode(), verified_by=KEY_SET.sha256)
    log = PureLog()
    log.append(draft(1, Link("mandate", forged.sha256)))
    log.keep(KEY_SET, forged)
    assert verdict_of(log.lines()) == ("evidence", "line 4")


@pytest.mark.parametrize(
    ("documents", "line"),
    [
        ((SIGNED, KEY_SET, TEXT), 3),
        ((KEY_SET, SIGNED, SIGNED), 5),
        ((KEY_SET, TEXT), 5),
        ((describe(b"nobody refers to this"),), 3),
    ],
)
def test_evidence_out_of_place_is_found(documents: tuple[object, ...], line: int) -> None:
    """A key set comes first; nothing comes twice; everything is referred to."""
    log = PureLog()
    log.append(draft(1, Link("mandate", SIGNED.sha256), Link("text", TEXT.sha256)))
    log.keep(*documents)
    assert verdict_of(log.lines()) == ("evidence", f"line {line}")


def test_evidence_cannot_be_called_by_another_media_type() -> None:
    """A signed document passed off as text would never have its signature looked at."""
    renamed = msgspec.structs.replace(SIGNED, media_type=TEXT.media_type, typ=None, verified_by=None)
    log = PureLog()
    log.append(draft(1, Link("mandate", SIGNED.sha256)))
    log.keep(renamed)
    assert verdict_of(log.lines()) == ("evidence", "line 3")


def test_hashes_without_a_document_are_counted() -> None:
    """Whoever asked for evidence learns that some of it is not there."""
    log = PureLog()
    log.append(draft(1, Link("mandate", SIGNED.sha256), Link("text", TEXT.sha256)))
    log.keep(TEXT)
    verdict = verdict_of(log.lines())
    assert isinstance(verdict, Verdict)
    assert (verdict.evidence, verdict.signed, verdict.absent) == (1, 0, 1)


def test_a_file_that_stops_early_is_found_at_every_line() -> None:
    """A copy that broke off is told from a whole one even without a checkpoint."""
    for end in range(1, len(LINES)):
        assert not isinstance(verdict_of(LINES[:end]), Verdict)


def test_a_line_too_many_is_found_at_every_place() -> None:
    """Nothing can be slipped in anywhere, not even a second copy of a line that belongs."""
    for at in range(len(LINES) + 1):
        for extra in (LINES[0], LINES[-1], LINES[index_of(b'{"checkpoint":')], LINES[index_of(b'{"evidence":')], b"\n"):
            assert not isinstance(verdict_of([*LINES[:at], extra, *LINES[at:]]), Verdict)


@pytest.mark.parametrize("data", [b"", b"\n", b"{}\n", b"\x00" * 64, LINES[1], b'{"header":{}}\n'])
def test_a_file_that_is_no_export_is_no_judgement(data: bytes) -> None:
    """A wrong file is not called a broken log."""
    assert verdict_of([data] if data else []) == ("not_an_export", "line 1")


def test_no_receipts_are_no_intact_log() -> None:
    """An empty yes is a no."""
    assert verdict_of(PureLog().lines()) == ("receipts_not_judged", None)


lines_of_a_log = st.lists(st.sampled_from(LINES) | st.binary(max_size=80), max_size=30)
edits = st.lists(st.tuples(st.integers(0, len(TEXT_OF) - 1), st.binary(max_size=3)), min_size=1, max_size=3)


@settings(max_examples=150, deadline=None)
@given(lines_of_a_log, st.none() | st.binary(max_size=60) | st.sampled_from(FULL.notes))
def test_any_lines_give_a_verdict_or_a_refusal(lines: list[bytes], kept: bytes | None) -> None:
    """Whatever is fed in, nothing else ever leaves."""
    for each in (lines, [LINES[0], *lines]):
        found = verdict_of(each, kept=kept)
        assert isinstance(found, Verdict | tuple)


@settings(max_examples=200, deadline=None)
@given(edits)
def test_any_edit_of_the_text_is_found(changes: list[tuple[int, bytes]]) -> None:
    """Bytes replaced, inserted or removed anywhere: the verdict is never that the log is intact."""
    text = TEXT_OF
    for at, put in changes:
        text = text[:at] + put + text[at + 1 :]
    if text != TEXT_OF:
        assert not isinstance(verdict_of(cut(text)), Verdict)
