"""Folding one run's events into blocks. The hub's events are legal; whatever is not changes nothing here."""

from __future__ import annotations

from sayso.apps.tui.view.blocks import CallBlock, CompactionBlock, EndBlock, SaidBlock
from sayso.apps.tui.view.calls import ask_call, end_call, error_text, find_diff, result_text
from sayso.apps.tui.view.clean import clean, clean_name
from sayso.apps.tui.view.page import Page
from sayso.apps.tui.view.questioning import ask, settle_question, withdraw_all
from sayso.apps.tui.view.speech import act, close, say, settle
from sayso.apps.tui.view.spoken import Telling
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import (
    ActionCallCancelled,
    ActionCallCompleted,
    ActionCallFailed,
    ActionCallProgress,
    ActionCallRequested,
    ActionCallStarted,
    PermissionRequested,
    PermissionResolved,
)
from sayso.control.protocol.payloads.compaction import RunCompactionEnded, RunCompactionStarted
from sayso.control.protocol.payloads.content import text_of
from sayso.control.protocol.payloads.interaction import UserInputRequested, UserInputResolved
from sayso.control.protocol.payloads.run import (
    ContentDelta,
    RunCancelled,
    RunCompleted,
    RunFailed,
    RunStarted,
    RunStatusUpdated,
)
from sayso.control.protocol.payloads.scalars import UNSET, Maybe, Wire
from sayso.control.protocol.payloads.steer import RunSteerApplied, RunSteerDropped

__all__ = ("TOO_LATE", "fold", "take_steer", "whole")

TOO_LATE = "the run ended first"
CallEvent = (
    ActionCallRequested
    | ActionCallStarted
    | ActionCallProgress
    | ActionCallCompleted
    | ActionCallFailed
    | ActionCallCancelled
)


def fold(page: Page, telling: Telling, envelope: Envelope[Wire]) -> None:
    """One event of a run that has not ended. A run's start and its end are the story's to notice."""
    at_ms = whole(envelope.timestamp_ms)
    match envelope.payload:
        case ContentDelta(part=part, message_id=message_id):
            say(page, telling, part, message_id, at_ms)
        case RunStarted(started_at_ms=started_ms):
            telling.status, telling.started_ms = "running", whole(started_ms) or at_ms
        case RunStatusUpdated(status=status):
            telling.status = status
        case PermissionRequested() | UserInputRequested():
            act(page, telling, at_ms)
            ask(page, telling, envelope)
        case PermissionResolved() | UserInputResolved() as resolved:
            settle_question(page, telling, resolved)
        case RunCompleted() | RunFailed() | RunCancelled() as end:
            _end(page, telling, end, at_ms)
        case payload:
            _fold_more(page, telling, payload, at_ms)


def whole(number: Maybe[int]) -> int | None:
    """An optional number of the wire."""
    return None if number is UNSET else number


def _fold_more(page: Page, telling: Telling, payload: Wire, at_ms: int | None) -> None:
    match payload:
        case (
            ActionCallRequested()
            | ActionCallStarted()
            | ActionCallProgress()
            | ActionCallCompleted()
            | ActionCallFailed()
            | ActionCallCancelled()
        ):
            act(page, telling, at_ms)
            _call(page, _block_of(page, telling, payload), payload, at_ms)
        case RunSteerApplied(submission_id=submission_id):
            _steered(page, telling, submission_id, "")
        case RunSteerDropped(submission_id=submission_id, reason=reason):
            _steered(page, telling, submission_id, error_text(reason))
        case RunCompactionStarted() | RunCompactionEnded():
            close(page, telling, at_ms)
            telling.has_acted = True
            _compaction(page, telling, payload)
        case _:
            pass


def _block_of(page: Page, telling: Telling, payload: CallEvent) -> CallBlock:
    name = payload.name if payload.name else "a tool"
    arguments = getattr(payload, "arguments_json", UNSET)
    return ask_call(page, telling.calls, payload.tool_call_id, telling.run_id, name, arguments)


def _call(page: Page, block: CallBlock, payload: CallEvent, at_ms: int | None) -> None:
    match payload:
        case ActionCallStarted():
            if block.state == "asked":
                block.state, block.started_ms = "started", at_ms
        case ActionCallProgress(progress=progress):
            if block.state == "started":
                block.progress = clean_name(result_text(progress))
        case ActionCallCompleted(result=result):
            end_call(page, block, "completed", result_text(result), find_diff(result), at_ms)
        case ActionCallFailed(error=error):
            end_call(page, block, "failed", error_text(error), "", at_ms)
        case ActionCallCancelled():
            end_call(page, block, "cancelled", "", "", at_ms)
        case ActionCallRequested():
            pass


def _steered(page: Page, telling: Telling, submission_id: str, why: str) -> None:
    key = submission_id if submission_id in telling.steers else next(iter(telling.steers), None)
    if key is None:
        telling.settled[submission_id] = why
        return
    take_steer(page, telling.steers.pop(key), why)


def take_steer(page: Page, block: SaidBlock, why: str) -> None:
    """The run took the words, or dropped them for a reason."""
    block.state, block.why = ("dropped", why) if why else ("sent", "")
    page.touch(block)


def _compaction(page: Page, telling: Telling, payload: RunCompactionStarted | RunCompactionEnded) -> None:
    key = payload.compaction_id
    block = telling.compactions.get(key)
    if block is None:
        reason = payload.reason if isinstance(payload, RunCompactionStarted) else ""
        fresh = CompactionBlock(index=0, run_id=telling.run_id, compaction_id=key, reason=reason)
        block = telling.compactions[key] = page.add(fresh)
    if isinstance(payload, RunCompactionStarted):
        block.before = whole(payload.history_tokens)
    elif block.outcome is None:
        block.outcome, block.after = payload.outcome, whole(payload.history_tokens)
        if payload.summary is not UNSET:
            block.summary = clean(text_of(payload.summary.content))
        elif payload.error is not UNSET:
            block.summary = error_text(payload.error)
    page.touch(block)


def _end(page: Page, telling: Telling, end: RunCompleted | RunFailed | RunCancelled, at_ms: int | None) -> None:
    if isinstance(end, RunCompleted):
        settle(page, telling, end.final_response, at_ms)
    close(page, telling, at_ms)
    withdraw_all(page, telling)
    for call in telling.calls.values():
        end_call(page, call, "failed" if isinstance(end, RunFailed) else "cancelled", "", "", at_ms)
    for steer in telling.steers.values():
        take_steer(page, steer, TOO_LATE)
    match end:
        case RunFailed(error=error):
            telling.status = "failed"
            code, message = clean_name(error.code), clean(error.message)
            page.add(EndBlock(index=0, run_id=telling.run_id, kind="failed", code=code, message=message))
        case RunCancelled(reason=reason):
            telling.status = "cancelled"
            why = "" if reason is UNSET else clean(reason)
            page.add(EndBlock(index=0, run_id=telling.run_id, kind="cancelled", message=why))
        case RunCompleted():
            telling.status = "completed"
