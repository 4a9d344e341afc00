"""What is counted of crossings, for dashboards and alarms: by door, outcome and code, never an id or a payload."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from prometheus_client import CollectorRegistry, Counter

from sayso.gateway.guard.rules.codes import CODES

__all__ = ("Metrics", "Outcome", "PrometheusMetrics", "outcome_of")

Outcome: TypeAlias = Literal["answered", "refused", "failed"]
_OUR_FAULT = 500
_OTHER = "other"


class Metrics(Protocol):
    """Who is told of every crossing, once, after its receipt is durable."""

    def crossed(self, door: str, outcome: Outcome, code: str) -> None:
        """`code` is empty where the request was answered."""
        ...


def outcome_of(status: int) -> Outcome:
    """What a denial under an HTTP status is counted as."""
    return "failed" if status >= _OUR_FAULT else "refused"


class PrometheusMetrics:
    """`sayso_crossings_total{door, outcome, code}` in a registry of Prometheus.

    A code that is not of the gateway's registry came from an act, and is counted as `other`: no label is ever made of
    what somebody sent.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._crossings = Counter(
            "sayso_crossings", "Requests at the doors", ("door", "outcome", "code"), registry=registry
        )

    def crossed(self, door: str, outcome: Outcome, code: str) -> None:
        self._crossings.labels(door, outcome, code if not code or code in CODES else _OTHER).inc()
