r"""The export: a log as lines that anybody can read, each one JSON object with one member that names the line.

    {"header":{"evidence":false,"format":"sayso-receipts","log":"...","v":1}}   first
    {"disclosure":{...}}    the disclosures of a batch, in their order, straight before the record that seals them
    {"record":{...}}        the chained records, in their order
    {"checkpoint":"..."}    a signed note, straight after the last record it covers
    {"evidence":{...}}      after all records: key sets first, then the documents; `data` in base64url
    {"end":{"checkpoints":0,"disclosures":0,"evidence":0,"records":0}}   last: how many of each went before

What stands between `{"record":` and the closing brace are the record's canonical bytes as they were hashed, so a
verifier cuts them out and never writes JSON itself. The other lines are in canonical form too; every line ends with a
line feed and every byte has one meaning. The last line only tells a whole file from a broken copy: that nothing is
missing at the end of the log itself is shown by a checkpoint.
"""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec

from sayso.core import b64u
from sayso.core.refusal import Refused
from sayso.ledger.rules.evidence import Evidence
from sayso.ledger.rules.wire import Count, Hash, LogName

__all__ = (
    "MAX_LINE",
    "NOT_AN_EXPORT",
    "RECORD_START",
    "End",
    "Header",
    "cut_line",
    "not_an_export",
    "read_checkpoint_line",
    "read_end",
    "read_evidence",
    "read_header",
    "write_checkpoint_line",
    "write_disclosure_line",
    "write_end",
    "write_evidence",
    "write_header",
    "write_record_line",
)

MALFORMED_LINE = "malformed_line"
NOT_AN_EXPORT = "not_an_export"
MAX_LINE = 400_000
"""Bytes of the longest line: evidence of the greatest size in base64url, and what stands around it."""

Tag = Literal["header", "record", "disclosure", "checkpoint", "evidence", "end"]
_TAGS: tuple[Tag, ...] = ("record", "disclosure", "checkpoint", "evidence", "header", "end")
RECORD_START = b'{"record":'
_STARTS = {f'{{"{tag}":'.encode(): tag for tag in _TAGS}
T = TypeVar("T")


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which log this is, and whether the evidence its receipts refer to is meant to be in it."""

    evidence: bool
    format: Literal["sayso-receipts"]
    log: LogName
    v: Literal[1]


class End(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many of each there are."""

    checkpoints: Count
    disclosures: Count
    evidence: Count
    records: Count


class _EvidenceLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    data: str
    media_type: str
    sha256: Hash
    typ: str | None = None
    verified_by: Hash | None = None


_encode = msgspec.json.Encoder().encode
# As in `wire`: what was decoded counts only when its re-encoding is what was read.
_decode_header = msgspec.json.Decoder(Header)
_decode_end = msgspec.json.Decoder(End)
_decode_evidence = msgspec.json.Decoder(_EvidenceLine)
_decode_text = msgspec.json.Decoder(str)


def write_header(log: str, *, with_evidence: bool) -> bytes:
    """The first line."""
    return _line("header", _encode(Header(evidence=with_evidence, format="sayso-receipts", log=log, v=1)))


def write_record_line(data: bytes) -> bytes:
    """A chained record, from its canonical bytes."""
    return b'{"record":%b}\n' % data


def write_disclosure_line(data: bytes) -> bytes:
    """A sealed disclosure, from its canonical bytes."""
    return b'{"disclosure":%b}\n' % data


def write_checkpoint_line(note: str) -> bytes:
    """A signed note."""
    return _line("checkpoint", _encode(note))


def write_evidence(document: Evidence) -> bytes:
    """A document with what is stated beside it."""
    return _line(
        "evidence",
        _encode(
            _EvidenceLine(
                data=b64u.encode(document.data),
                media_type=document.media_type,
                sha256=document.sha256,
                typ=document.typ,
                verified_by=document.verified_by,
            )
        ),
    )


def write_end(end: End) -> bytes:
    """The last line."""
    return _line("end", _encode(end))


def cut_line(line: bytes) -> tuple[Tag, bytes]:
    """What kind of line this is, and the JSON inside. Refused: `malformed_line`."""
    start = line[: line.find(b":") + 1]
    tag = _STARTS.get(start)
    if tag is None or not line.endswith(b"}\n") or len(line) > MAX_LINE:
        raise _malformed("it is none of the lines an export is made of")
    return tag, line[len(start) : -2]


def read_header(line: bytes) -> Header:
    """The first line. Refused: `not_an_export`."""
    try:
        tag, data = cut_line(line)
        if tag == "header":
            return _read(_decode_header, data)
    except Refused:
        pass
    raise not_an_export()


def not_an_export() -> Refused:
    """The refusal of a file whose first line is no header."""
    return Refused.because(
        NOT_AN_EXPORT,
        "This is no export of receipts, or one of a version this program does not know",
        place="line 1",
        help="Give a file that `sayso receipts export` wrote.",
    )


def read_end(data: bytes) -> End:
    """The last line. Refused: `malformed_line`."""
    return _read(_decode_end, data)


def read_checkpoint_line(data: bytes) -> str:
    """A signed note, not yet verified. Refused: `malformed_line`."""
    return _read(_decode_text, data)


def read_evidence(data: bytes) -> Evidence:
    """A document as it is stated, not yet verified. Refused: `malformed_line`, `malformed_base64url`."""
    line = _read(_decode_evidence, data)
    return Evidence(
        data=b64u.decode(line.data),
        media_type=line.media_type,
        sha256=line.sha256,
        typ=line.typ,
        verified_by=line.verified_by,
    )


def _line(tag: Tag, data: bytes) -> bytes:
    return b'{"%b":%b}\n' % (tag.encode(), data)


def _read(decoder: msgspec.json.Decoder[T], data: bytes) -> T:
    try:
        value = decoder.decode(data)
        is_canonical = _encode(value) == data
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as wrong:
        raise _malformed(str(wrong)) from None
    if not is_canonical:
        raise _malformed("it is not in canonical form")
    return value


def _malformed(message: str) -> Refused:
    return Refused.because(MALFORMED_LINE, message)
