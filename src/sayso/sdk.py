"""Models and an agent for a program, as a child process over standard input and output.

    async with Sayso() as sayso:
        answer = await sayso.provider.complete("anthropic/claude-sonnet-4-6", "Say hello")
        print(answer.text)
        outcome = await sayso.agent.run("What is in this folder?")

`Sayso` starts `sayso serve agent,provider --stdio`: `provider` asks models directly, `agent` runs the loop, `auth`
signs in. `BlockingSayso` is the same without `await`. `Agent(endpoint_program("memory"))` drives one endpoint, and
`Program` starts any that speaks the protocol.
"""

from __future__ import annotations

from sayso.control.client.agents import AgentHalf, AgentSession, Asked
from sayso.control.client.blocking import BlockingSayso
from sayso.control.client.combined import Sayso
from sayso.control.client.endpoint import EndpointClient as Agent
from sayso.control.client.errors import (
    ClientError,
    DisconnectError,
    OverflowError,  # noqa: A004 - the protocol's word for it; never the arithmetic one
    ReplayGapError,
    ServerError,
)
from sayso.control.client.logins import LoginClient
from sayso.control.client.program import combined_program, endpoint_program
from sayso.control.client.providers import Completion, ProviderClient
from sayso.control.client.run import Answered, RunOutcome, run_to_terminal
from sayso.control.client.session import Session
from sayso.control.client.tools import Tool
from sayso.net.child import Program

__all__ = (
    "Agent",
    "AgentHalf",
    "AgentSession",
    "Answered",
    "Asked",
    "BlockingSayso",
    "ClientError",
    "Completion",
    "DisconnectError",
    "LoginClient",
    "OverflowError",
    "Program",
    "ProviderClient",
    "ReplayGapError",
    "RunOutcome",
    "Sayso",
    "ServerError",
    "Session",
    "Tool",
    "combined_program",
    "endpoint_program",
    "run_to_terminal",
)
