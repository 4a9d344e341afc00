"""What the terminal UI needs of an agent, whoever opened it: a client of a hub, and what stands beside it in this home.

`apps/agent_home.py` opens one over our own loop, `opening.py` one over a running hub or another backend, and a test one
over whatever it likes. What is None is not there: a hub elsewhere keeps its conversations and providers to itself.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from sayso.apps.house import House
    from sayso.control.client.agent import AgentClient
    from sayso.control.loop.saved import SavedConversations
    from sayso.control.provider.contract import ProviderService

__all__ = ("OpensSeat", "Seat", "Wanted")


class Seat(Protocol):
    """An open agent."""

    @property
    def client(self) -> AgentClient:
        """The hub, entered already."""
        ...

    @property
    def adapter(self) -> str:
        """The adapter that sessions are opened with."""
        ...

    @property
    def providers(self) -> ProviderService | None:
        """The models that can be had here."""
        ...

    @property
    def conversations(self) -> SavedConversations | None:
        """What was said before."""
        ...

    @property
    def house(self) -> House | None:
        """The house whose key app signs; None when this home has no keys."""
        ...

    @property
    def notice(self) -> str | None:
        """What the person should know from the start, in a sentence."""
        ...

    async def session_of(self, native_id: str) -> str | None:
        """The session to reopen for a saved conversation; None where the hub knows none."""
        ...

    async def native_of(self, session_id: str) -> str | None:
        """The saved conversation behind a session; None where it is not kept here."""
        ...

    async def is_sandboxed(self) -> bool:
        """Whether commands of the agent run in a sandbox, as far as is known here."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the person asked for when they started.

    `attach` is a running hub's URL; `backend` another adapter than our loop, with `config` its registry document.
    `resume` names a conversation to go on with; an empty name asks which.
    """

    home: Path
    workspace: Path
    attach: str | None = None
    backend: str | None = None
    config: Path | None = None
    model: str | None = None
    permission: Literal["ask", "bypass"] = "ask"
    resume: str | None = None


OpensSeat = Callable[[Wanted], AbstractAsyncContextManager[Seat]]
