"""What a conformance run found, for people and for programs."""

from __future__ import annotations

from collections import Counter

import msgspec

from sayso.control.conformance.checks import Outcome, Result
from sayso.core import strictjson

__all__ = ("UNREACHED", "ConformanceReport", "write_json", "write_text")

UNREACHED = "not reached"
"""How the detail of a check begins that was skipped because of another."""


class ConformanceReport(msgspec.Struct, frozen=True, kw_only=True):
    """Conforming when no check failed. `trace` is what the validator judged, a line for each envelope."""

    endpoint: str
    binding: str
    revision: str
    checks: tuple[Result, ...]
    claim: str = ""
    """What it may claim: the profile, and each unit it advertises and was driven through; empty when it may not."""
    trace: tuple[bytes, ...] = ()

    @property
    def conforms(self) -> bool:
        """Whether nothing failed, and something passed: an endpoint that was asked nothing has shown nothing."""
        outcomes = {result.outcome for result in self.checks}
        return Outcome.FAIL not in outcomes and Outcome.PASS in outcomes

    def outcome(self, name: str) -> Result:
        """How one check ended. Raises KeyError for a name that is none."""
        return {result.name: result for result in self.checks}[name]


def write_json(report: ConformanceReport) -> bytes:
    """`{endpoint, binding, revision, conforms, claim, checks: [{name, outcome, detail}]}`."""
    rows = [{"name": result.name, "outcome": result.outcome.value, "detail": result.detail} for result in report.checks]
    members = {"endpoint": report.endpoint, "binding": report.binding, "revision": report.revision}
    return strictjson.encode({**members, "conforms": report.conforms, "claim": report.claim, "checks": rows})


def write_text(report: ConformanceReport) -> str:
    """A line for each check, those that were not reached told as one, and a line for them all."""
    width = max(len(result.name) for result in report.checks)
    lines = [_line(result, width) for result in report.checks if not result.detail.startswith(UNREACHED)]
    unreached = [result.name for result in report.checks if result.detail.startswith(UNREACHED)]
    if unreached:
        lines.append(f"skip  not reached: {', '.join(unreached)}")
    count = Counter(result.outcome for result in report.checks)
    told = ", ".join(f"{count[outcome]} {word}" for outcome, word in _WORDS)
    verdict = "conforms" if report.conforms else "does not conform"
    if report.claim:
        lines.append(f"claim {report.claim}")
    return "".join(f"{line}\n" for line in [*lines, f"{_plain(report.endpoint)} {verdict} ({report.binding}): {told}"])


_WORDS = ((Outcome.PASS, "passed"), (Outcome.FAIL, "failed"), (Outcome.SKIP, "skipped"))


def _line(result: Result, width: int) -> str:
    said = f"  {_plain(result.detail)}" if result.detail else ""
    return f"{result.outcome.value:4}  {result.name:{width}}{said}".rstrip()


def _plain(text: str) -> str:
    """Text of an endpoint on a terminal: no control character leaves it as such."""
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)
