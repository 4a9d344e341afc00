"""One request of a session while its adapter has it, and what an adapter's failure is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio

from sayso.control.protocol.codes import TRANSPORT_CODES
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.run import RunCancelRequest
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.refusal import Misuse, Refusal, Refused

__all__ = ("BROKE", "Exchange", "Loss", "of_adapter", "unoffered")

BROKE = Refusal(code="internal", message="the adapter broke off")
_ENDED = Refusal(code="session_closed", message="the session closed before this was answered")


@dataclass(slots=True, eq=False)
class Exchange:
    """What the adapter gave: a payload, or else the refusal. `response` is what was answered and recorded."""

    request: Envelope[Wire]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    done: anyio.Event = field(default_factory=anyio.Event)
    payload: Wire | None = None
    refusal: Refusal = field(default_factory=lambda: _ENDED)
    response: Envelope[Wire] | None = None
    misuse: Misuse | None = None

    def cancels(self, run_id: str) -> bool:
        """Whether it asks for the end of this run."""
        payload = self.request.payload
        return isinstance(payload, RunCancelRequest) and payload.run_id == run_id


@dataclass(frozen=True, slots=True)
class Loss:
    """Why a run's stream cannot be believed any more."""

    code: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)


def of_adapter(refusal: Refusal) -> Refusal:
    """An adapter's refusal; a code that speaks of a transport is none of its own (OAP-113)."""
    return BROKE if refusal.code in TRANSPORT_CODES else refusal


def unoffered(feature: str) -> Refused:
    """The refusal of a unit the adapter has no method for."""
    details = {"feature": feature, "reason": "unadvertised"}
    return Refused.because("unsupported_feature", f"{feature} is not offered here", details=details)
