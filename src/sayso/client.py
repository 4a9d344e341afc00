"""A client of a running hub, over HTTP and server-sent events.

    async with Client("http://127.0.0.1:6270") as client:
        session = await client.start("memory")
        admitted = await session.submit("Say hello")
        async for envelope in session.events(run_id=admitted.run_id, after=0):
            print(envelope.type)

`Client` takes `participant`, `strict_resume`, `judged`, `record` and `transport`; its docstring says what each does.
"""

from __future__ import annotations

from sayso.control.client.agent import AgentClient
from sayso.control.client.contract import OpenSettings, RunControls
from sayso.control.client.errors import (
    ClientError,
    DisconnectError,
    OverflowError,  # noqa: A004 - the protocol's word for it; never the arithmetic one
    ReplayGapError,
    ServerError,
)
from sayso.control.client.http import HubClient as Client
from sayso.control.client.run import Answered, RunOutcome, run_to_terminal
from sayso.control.client.session import Session

__all__ = (
    "AgentClient",
    "Answered",
    "Client",
    "ClientError",
    "DisconnectError",
    "OpenSettings",
    "OverflowError",
    "ReplayGapError",
    "RunControls",
    "RunOutcome",
    "ServerError",
    "Session",
    "run_to_terminal",
)
