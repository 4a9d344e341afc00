"""A backend this build does not have, under its own name: listed with the reason, never replaced (OAP-004)."""

from __future__ import annotations

from anyio.abc import TaskGroup

from sayso.control.adapters.contract import AdapterSession, Descriptor
from sayso.control.protocol.envelope import Envelope
from sayso.control.protocol.payloads.session import SessionOpenRequest
from sayso.core.refusal import Refused

__all__ = ("Unavailable",)


class Unavailable:
    """Refuses `unavailable` whatever it is asked; `backend` is the name of what is missing."""

    def __init__(self, backend: str) -> None:
        self._backend = backend

    async def probe(self) -> Descriptor:
        raise self._refusal()

    async def open(self, request: Envelope[SessionOpenRequest], session_id: str, tasks: TaskGroup) -> AdapterSession:
        raise self._refusal()

    def _refusal(self) -> Refused:
        details = {"feature": f"backend.{self._backend}", "reason": "unadvertised"}
        return Refused.because("unavailable", f"the backend {self._backend} is not in this build", details=details)
