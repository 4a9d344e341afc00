"""The task feed's operations as the house's description lists them (GTW-005, GTW-006)."""

from __future__ import annotations

from sayso.gateway.doors.tasks import wire
from sayso.gateway.doors.tasks.read import PREFIX
from sayso.gateway.operation import DENIALS, Operation, Parameter

__all__ = ("OPERATIONS",)

OPERATIONS = (
    Operation(
        id="tasks",
        method="GET",
        path=PREFIX.decode(),
        summary="The work that is assigned to the caller",
        answers={200: (wire.Feed,)},
        failure=wire.Failure,
    ),
    Operation(
        id="taskResult",
        method="POST",
        path=PREFIX.decode() + "/{runId}/result",
        summary="Deliver a result; the same again is told the same",
        answers={200: (wire.Delivered,)},
        failure=wire.Failure,
        denials=(*DENIALS, 409),
        parameters=(
            Parameter(
                name="runId",
                where="path",
                schema={"type": "string", "pattern": "^[A-Za-z0-9_]{1,64}$"},
                description="The run's id",
            ),
        ),
        body=wire.Result,
    ),
)
"""Every operation of the door."""
