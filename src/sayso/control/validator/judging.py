"""One trace, one report: the phases in their order, in one pass (OAP-022, OAP-024).

The first phase that finds anything is the one reported: a trace is judged semantically only when every envelope has its
shape, and its shapes only when all of it could be read.
"""

from __future__ import annotations

from typing import BinaryIO, Literal

from msgspec.structs import replace

from sayso.control.validator.decode import Frame, TraceReader
from sayso.control.validator.diagnostics import Finding, Findings, Phase
from sayso.control.validator.packs import NO_PACKS, Packs
from sayso.control.validator.providers import ProviderJudge
from sayso.control.validator.report import Report
from sayso.control.validator.semantic import SemanticJudge
from sayso.control.validator.shape import AgentShape, Mode, ProviderShape
from sayso.control.validator.speech import read_speech
from sayso.core.refusal import Refused

__all__ = ("MOST_FINDINGS", "Profile", "judge")

Profile = Literal["agent-control-core", "model-provider-core"]
MOST_FINDINGS = 1000
"""A report lists no more; a broken file of a million lines is told by its first thousand."""


def judge(
    source: bytes | BinaryIO,
    *,
    file: str = "",
    mode: Mode = "strict",
    packs: Packs = NO_PACKS,
    profile: Profile = "agent-control-core",
) -> Report:
    """Judges one trace. Raises nothing for anything that the bytes hold; only reading the stream itself may fail."""
    trial = _AgentTrial(mode, packs) if profile == "agent-control-core" else _ProviderTrial(mode)
    reader = TraceReader(source, trial.goes_on if isinstance(trial, _AgentTrial) else None)
    unread, misshapen = Findings(MOST_FINDINGS), Findings(MOST_FINDINGS)
    count = 0
    for each in reader.frames():
        if isinstance(each, Finding):
            unread.add(each)
            trial.is_sound = False
            continue
        count += 1
        wrong = trial.hear(each)
        if wrong is not None:
            misshapen.add(wrong)
            trial.is_sound = False
    findings = unread or misshapen or trial.conclude()
    shown = sorted(findings.kept, key=_place)
    left_out = findings.left_out + max(0, len(shown) - MOST_FINDINGS)
    told = tuple(_with_line(finding, reader) for finding in shown[:MOST_FINDINGS])
    return Report(file, told, count + reader.heard, left_out, reader.mended)


def _with_line(finding: Finding, reader: TraceReader) -> Finding:
    if finding.line is not None or finding.index is None:
        return finding
    return replace(finding, line=reader.line_of(finding.index))


class _AgentTrial:
    def __init__(self, mode: Mode, packs: Packs) -> None:
        self._shape = AgentShape(mode, packs)
        self._judge = SemanticJudge(packs)
        self.is_sound = True
        """Nothing was unreadable or misshapen, so what comes is judged."""

    def goes_on(self, line: bytes) -> bool:
        """Whether this line is but the next thing that the speaking run says; then it has been heard."""
        if not (self.is_sound and self._judge.is_speaking):
            return False
        envelope = read_speech(line)
        return envelope is not None and self._judge.goes_on(envelope)

    def hear(self, frame: Frame) -> Finding | None:
        """The fault of one envelope's shape; a well-shaped one is judged where it still counts."""
        try:
            envelope = self._shape.read(frame.value)
        except Refused as refused:
            return _misshapen(frame, refused)
        if self.is_sound and not (envelope.type == "content.delta" and self._judge.goes_on(envelope)):
            self._judge.hear(frame.index, frame.line, envelope, frame.value)
        return None

    def conclude(self) -> Findings:
        """Every semantic finding."""
        self._judge.conclude()
        return self._judge.findings


class _ProviderTrial:
    def __init__(self, mode: Mode) -> None:
        self._shape = ProviderShape(mode)
        self._judge = ProviderJudge()
        self.is_sound = True

    def hear(self, frame: Frame) -> Finding | None:
        """The fault of one envelope's shape; a well-shaped one is judged where it still counts."""
        try:
            envelope = self._shape.read(frame.value)
        except Refused as refused:
            return _misshapen(frame, refused)
        if self.is_sound and envelope is not None:
            self._judge.hear(frame.index, frame.line, envelope)
        return None

    def conclude(self) -> Findings:
        """Every semantic finding."""
        self._judge.conclude()
        return self._judge.findings


def _place(finding: Finding) -> int:
    return -1 if finding.index is None else finding.index


def _misshapen(frame: Frame, refused: Refused) -> Finding:
    value = frame.value
    name = value.get("id") if isinstance(value, dict) else None
    return Finding(
        phase=Phase.SCHEMA.value,
        code="schema_invalid",
        message=refused.refusal.message,
        index=frame.index,
        line=frame.line,
        envelope_id=name if isinstance(name, str) else None,
        place=refused.refusal.place,
    )
