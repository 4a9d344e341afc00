"""An agent as a child process, over standard input and output.

    async with Agent(endpoint_program("memory")) as agent:
        session = await agent.start()
        admitted = await session.submit("Say hello")
        async for envelope in session.events(run_id=admitted.run_id, after=0):
            print(envelope.type)

`endpoint_program` starts our own; `Program` starts any endpoint that speaks the protocol.
"""

from __future__ import annotations

from sayso.control.client.endpoint import EndpointClient as Agent
from sayso.control.client.errors import (
    ClientError,
    DisconnectError,
    OverflowError,  # noqa: A004 - the protocol's word for it; never the arithmetic one
    ReplayGapError,
    ServerError,
)
from sayso.control.client.program import endpoint_program
from sayso.control.client.run import Answered, RunOutcome, run_to_terminal
from sayso.control.client.session import Session
from sayso.net.child import Program

__all__ = (
    "Agent",
    "Answered",
    "ClientError",
    "DisconnectError",
    "OverflowError",
    "Program",
    "ReplayGapError",
    "RunOutcome",
    "ServerError",
    "Session",
    "endpoint_program",
    "run_to_terminal",
)
