"""One run of the script over one endpoint: bounded in every wait, and gone when it is done (OAP-198, OAP-199)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from sayso.control.conformance.checks import Check, Failed, Gone, Outcome, Result, Silent, Skipped
from sayso.control.conformance.host import hosting
from sayso.control.conformance.port import Launcher
from sayso.control.conformance.report import UNREACHED, ConformanceReport
from sayso.control.conformance.script import UNITS, script
from sayso.control.conformance.talk import Talk
from sayso.control.protocol.envelope import AGENT_PROFILE
from sayso.core.ids import Ids
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refused

__all__ = ("BUDGET", "run_conformance")

BUDGET = 30.0
"""Seconds that one correlation may take: a request and its answer, a run from its admission to its end."""


async def run_conformance(
    launcher: Launcher, *, ids: Ids, name: str, budget: float = BUDGET, model: str | None = None
) -> ConformanceReport:
    """Drives whatever `launcher` connects to, and says how every check ended. Raises `Refused` `cannot_start`."""
    async with launcher.connect() as port, hosting(port, budget) as host:
        talk = Talk(host, ids, model=model)
        results = await _play(script(launcher), talk)
        trace = tuple(host.trace)
    report = ConformanceReport(
        endpoint=name, binding=launcher.binding.name, revision=talk.revision, checks=tuple(results), trace=trace
    )
    return msgspec.structs.replace(report, claim=_claim(talk, report)) if report.conforms else report


def _claim(talk: Talk, report: ConformanceReport) -> str:
    """The profile and its units, in the specification's spelling; a pack's terms are the pack's fixtures to show."""
    units = [
        unit
        for unit, (check, keys) in UNITS.items()
        if report.outcome(check).outcome is Outcome.PASS and (not keys or any(map(talk.offers, keys)))
    ]
    return f"{AGENT_PROFILE}/0.1-executable{''.join(f'+{unit}' for unit in units)}"


async def _play(checks: Sequence[Check], talk: Talk) -> list[Result]:
    results: dict[str, Result] = {}
    ended_by: str | None = None
    for check in checks:
        why = ended_by if not check.derived else None
        missing = why or _missing(check, results)
        if missing is not None:
            results[check.name] = Result(name=check.name, outcome=Outcome.SKIP, detail=f"{UNREACHED}: {missing}")
            continue
        result, is_last = await _try(check, talk)
        results[check.name] = result
        if is_last:
            ended_by = f"`{check.name}` ended the script"
    return list(results.values())


def _missing(check: Check, results: Mapping[str, Result]) -> str | None:
    """Why a check cannot be reached, if it cannot."""
    for name in check.needs:
        if results[name].outcome is not Outcome.PASS:
            return f"`{name}` did not pass"
    return None


async def _try(check: Check, talk: Talk) -> tuple[Result, bool]:
    """How a check ended, and whether nothing can be asked behind it."""
    try:
        detail = await check.act(talk)
    except Skipped as skipped:
        return Result(name=check.name, outcome=Outcome.SKIP, detail=str(skipped)), False
    except Failed as failed:
        is_last = isinstance(failed, Silent | Gone)
        return Result(name=check.name, outcome=Outcome.FAIL, detail=str(failed)), is_last
    except (Refused, PeerRefused, PeerUnreachable) as failure:
        return Result(name=check.name, outcome=Outcome.FAIL, detail=str(failure)), False
    return Result(name=check.name, outcome=Outcome.PASS, detail=detail or ""), False
