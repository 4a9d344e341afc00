"""Every deliberately broken endpoint fails, by the check of its fault; an honest one that is not ours passes."""

from __future__ import annotations

import os
import sys

import anyio
import pytest

from sayso.control.conformance.checks import Outcome
from sayso.control.conformance.child import ChildLauncher
from sayso.control.conformance.report import ConformanceReport, write_text
from sayso.control.conformance.runner import run_conformance
from sayso.core.ids import SystemIds
from sayso.net.child import Patience, Program
from sayso.testing.broken_endpoints import BROKEN
from sayso.testing.honest_endpoints import HONEST

AT_ONCE = 8
SILENT = ("did not come", "did not end")
PATIENT, BRISK = 60.0, 6.0


def launcher(kind: str) -> ChildLauncher:
    words = [sys.executable, "-m", "sayso.testing.broken_endpoints", kind]
    patience = Patience(eof=0.2, term=0.2)
    return ChildLauncher(Program(command=words, environment=dict(os.environ), patience=patience))


def budget(kind: str) -> float:
    """An endpoint that falls silent is waited for, each of the others is only as slow as the machine."""
    return BRISK if kind in BROKEN and BROKEN[kind].word.startswith(SILENT) else PATIENT


async def judge_all(kinds: list[str]) -> dict[str, ConformanceReport]:
    found: dict[str, ConformanceReport] = {}
    room = anyio.CapacityLimiter(AT_ONCE)

    async def judge(kind: str) -> None:
        async with room:
            found[kind] = await run_conformance(launcher(kind), ids=SystemIds(), name=kind, budget=budget(kind))

    async with anyio.create_task_group() as tasks:
        for kind in kinds:
            tasks.start_soon(judge, kind)
    return found


@pytest.fixture(scope="module")
def reports(request: pytest.FixtureRequest) -> dict[str, ConformanceReport]:
    """All kinds that are asked for here, side by side: most of their time is waiting."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function) and item.path == request.path]
    asked = {
        item.callspec.params["kind"] for item in items if hasattr(item, "callspec") and "kind" in item.callspec.params
    }
    return anyio.run(judge_all, sorted(asked))


@pytest.mark.req("OAP-128", "OAP-129", "OAP-199")
@pytest.mark.parametrize("kind", sorted(BROKEN))
def test_a_broken_endpoint_fails_by_the_check_of_its_fault(kind: str, reports: dict[str, ConformanceReport]) -> None:
    """The check is named, and its detail says what was seen."""
    report, broken = reports[kind], BROKEN[kind]
    result = report.outcome(broken.check)
    assert (result.outcome, report.conforms) == (Outcome.FAIL, False), write_text(report)
    assert broken.word in result.detail


UNOFFERED = {
    "queue": "`session.message.delivery.queue` is not advertised",
    "steer": "`session.message.delivery.steer` is not advertised",
}


@pytest.mark.req("OAP-004", "OAP-036", "OAP-198")
@pytest.mark.parametrize("kind", ["honest"])
def test_an_honest_endpoint_that_is_not_ours_conforms(kind: str, reports: dict[str, ConformanceReport]) -> None:
    """What it does not offer is refused by name; what cannot be asked without an offer is skipped with the reason."""
    report = reports[kind]
    skipped = {result.name: result.detail for result in report.checks if result.outcome is Outcome.SKIP}
    assert report.conforms, write_text(report)
    units = "+permissions+user-input+run-controls+models"
    assert report.claim == f"open-agent-protocol.agent-control-core/0.1-executable{units}"
    assert skipped == UNOFFERED


UNASKED = ("permission", "user_input", "wrong_responder", "second_answer", "state_live", "decline", "no_invented_end")
SKIPS: dict[str, tuple[str, ...]] = {
    "forgetful": (),
    "without_replay": ("replay", "replay_refusals"),
    "without_gates": UNASKED,
    "without_model_server": UNASKED,
    "fails_before_it_starts": UNASKED,
    "without_cancel": (),
    "overtaken": (),
    "talkative": (),
}


@pytest.mark.req("OAP-011", "OAP-128", "OAP-198", "OAP-199")
@pytest.mark.parametrize("kind", sorted(SKIPS))
def test_an_endpoint_that_does_it_differently_conforms_too(kind: str, reports: dict[str, ConformanceReport]) -> None:
    """A short memory, no replay, no gates, no model server, no cancel, another order: each is a right, and no fault."""
    report = reports[kind]
    assert report.conforms, write_text(report)
    skipped = {result.name for result in report.checks if result.outcome is Outcome.SKIP}
    assert skipped == {*SKIPS[kind], *UNOFFERED}
    assert set(SKIPS) | {"honest"} == set(HONEST)


def test_there_are_more_kinds_than_checks_could_miss_by_luck() -> None:
    """At least twelve kinds, and most checks have one."""
    assert len(BROKEN) >= 12
    assert len({broken.check for broken in BROKEN.values()}) >= 20
