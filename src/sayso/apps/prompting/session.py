"""One prompt followed to the end of its run: every event told, every question put to whoever can answer it."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import aclosing
from enum import Enum
from typing import cast

import anyio

from sayso.apps.prompting.person import NOBODY, Answering
from sayso.apps.prompting.telling import Tells
from sayso.control.client.session import Session
from sayso.control.protocol.consent import CONSENT_EXTENSION
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.action import PermissionRequested
from sayso.control.protocol.payloads.interaction import UserInputRequested
from sayso.control.protocol.payloads.run import RunCancelled, RunCompleted, RunFailed
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.core.refusal import PeerRefused, PeerUnreachable

__all__ = ("Verdict", "follow")

_CLEAN_UP_SECONDS = 10
_HINT = "; --permission bypass allows every call beforehand"


class Verdict(Enum):
    """How the run ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


async def follow(session: Session, words: str, tells: Tells, person: Answering) -> Verdict:
    """Submits, and returns at the run's terminal. Cancelling it cancels the run and waits for its end.

    Raises what the client's methods raise.
    """
    admitted = await session.submit(words)
    run_id = str(admitted.run_id)
    seen = 0
    try:
        async with aclosing(session.events(run_id=run_id, after=0)) as events:
            async for envelope in events:
                seen = envelope.sequence or seen
                tells.hear(envelope)
                await _answer(session, envelope, person, tells)
                if (verdict := _verdict(envelope.payload)) is not None:
                    return verdict
    except asyncio.CancelledError:
        with anyio.CancelScope(shield=True), anyio.move_on_after(_CLEAN_UP_SECONDS):
            await _stop(session, run_id, seen, tells)
        raise
    raise PeerUnreachable("the hub", "the run's events ended before the run")


async def _stop(session: Session, run_id: str, seen: int, tells: Tells) -> None:
    with contextlib.suppress(PeerRefused):
        await session.cancel(run_id, reason="stopped by the person")
    async with aclosing(session.events_after(run_id, seen)) as events:
        async for envelope in events:
            tells.hear(envelope)


async def _answer(session: Session, envelope: Envelope[Wire], person: Answering, tells: Tells) -> None:
    """Another surface may have answered first, or the run may be over: its events tell which."""
    try:
        if isinstance(envelope.payload, PermissionRequested):
            await _permit(session, cast("Envelope[PermissionRequested]", envelope), person, tells)
        elif isinstance(envelope.payload, UserInputRequested):
            await _input(session, cast("Envelope[UserInputRequested]", envelope), person)
    except PeerRefused as refused:
        if refused.refusal.code != "resolution_rejected":
            raise


async def _permit(session: Session, envelope: Envelope[PermissionRequested], person: Answering, tells: Tells) -> None:
    if envelope.extensions is not UNSET and CONSENT_EXTENSION in envelope.extensions:
        # A plain yes here would agree to nothing: what is signed is signed where the key app shows it.
        await session.resolve(envelope, granted=False, reason="this surface cannot sign; use `sayso ask`")
        return
    if not person.is_there:
        tells.note(f"{envelope.payload.title}: not allowed, {NOBODY}{_HINT}")
        await session.resolve(envelope, granted=False, reason=NOBODY)
        return
    await session.resolve(envelope, granted=await person.permits(envelope.payload))


async def _input(session: Session, envelope: Envelope[UserInputRequested], person: Answering) -> None:
    asked = envelope.payload
    answers = await person.answers(asked) if person.is_there else None
    if answers is not None:
        await session.answer(envelope, answers)
    elif asked.allow_cancel is True:
        await session.decline(envelope, reason=None if person.is_there else NOBODY)
    else:
        await session.cancel(asked.run_id, reason=NOBODY)


def _verdict(payload: Wire) -> Verdict | None:
    match payload:
        case RunCompleted():
            return Verdict.COMPLETED
        case RunFailed():
            return Verdict.FAILED
        case RunCancelled():
            return Verdict.CANCELLED
        case _:
            return None
