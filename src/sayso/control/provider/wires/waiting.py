"""What is told of a wait: somebody who looks at a silent model wants to know that it is only late."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sayso.control.protocol.payloads.inference import ProviderErrorCode

__all__ = ("Waiting",)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Attempt `attempt` of at most `attempts` failed; the next is made at `until`. `asked` is what the vendor asked."""

    inference_id: str
    provider_id: str
    attempt: int
    attempts: int
    code: ProviderErrorCode
    seconds: float
    until: datetime
    asked: float | None = None
