"""What the validator says of a trace, for people and for programs (OAP-025)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from sayso.control.validator.diagnostics import Finding
from sayso.core import strictjson

__all__ = ("Report", "write_human", "write_json")


class Report(msgspec.Struct, frozen=True):
    """One trace: valid when nothing was found."""

    file: str
    diagnostics: tuple[Finding, ...] = ()
    envelopes: int = 0
    left_out: int = 0
    """How many findings more there were."""
    mended: int = 0
    """How many values said something twice, the same both times, and were read (decision 0025)."""

    @property
    def valid(self) -> bool:
        """Whether nothing was found."""
        return not self.diagnostics


def write_json(reports: Sequence[Report]) -> bytes:
    """An array of `{file, valid, diagnostics}`; a diagnostic has at least phase, code and index."""
    rows = [
        {"file": report.file, "valid": report.valid, "diagnostics": [_row(each) for each in report.diagnostics]}
        for report in reports
    ]
    return strictjson.encode(rows)


def _row(finding: Finding) -> dict[str, object]:
    row: dict[str, object] = {"phase": finding.phase, "code": finding.code, "index": finding.index}
    for name in ("line", "envelope_id", "place"):
        value = getattr(finding, name)
        if value is not None:
            row[name] = value if isinstance(value, int) else _short(value)
    row["message"] = _short(finding.message)
    return row


def write_human(reports: Iterable[Report]) -> str:
    """A line for each trace, and one for each finding of it."""
    lines: list[str] = []
    for report in reports:
        if report.valid:
            repeats = ", which repeats members with the value they had" if report.mended else ""
            lines.append(f"{report.file}: valid ({report.envelopes} envelopes){repeats}")
            continue
        lines.append(f"{report.file}: invalid")
        lines += [f"  {_said(finding)}" for finding in report.diagnostics]
        if report.left_out:
            lines.append(f"  and {report.left_out} more")
    return "".join(f"{line}\n" for line in lines)


def _said(finding: Finding) -> str:
    where = []
    if finding.index is not None:
        where.append(f"envelope {finding.index}")
    if finding.line is not None:
        where.append(f"line {finding.line}")
    if finding.envelope_id is not None:
        where.append(f"id {_plain(finding.envelope_id)}")
    if finding.place is not None and finding.place != "$":
        where.append(f"at {_plain(finding.place)}")
    stands = f" ({', '.join(where)})" if where else ""
    return f"{finding.phase} {finding.code}{stands}: {_plain(finding.message)}"


def _plain(text: str) -> str:
    """Text of a trace on a terminal: no control character leaves it as such."""
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in _short(text))


def _short(text: str) -> str:
    """Names come from the trace and may be of any length."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


_LONGEST = 400
