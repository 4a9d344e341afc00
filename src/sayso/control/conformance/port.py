"""What conformance needs of a connection, whatever carries it: lines out, lines in, and how it ends.

A line is an envelope or a control frame as the endpoint binding writes them. A binding that carries something in
another form (a hub's routes, a replay that is a cursor in an address) is put into that form by its port, both ways, so
that one script drives them all and one validator judges them all.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

__all__ = ("Binding", "Launcher", "Port")


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What a binding carries. `requests` are the types it has a form for; None means every line is taken as it is."""

    name: str
    requests: frozenset[str] | None = None
    unpinned: frozenset[str] = frozenset()
    """Requests whose form has no place for a capability revision."""
    has_controls: bool = True
    """Whether control frames go out as they are, so that one nobody knows can be sent."""
    has_process: bool = True
    """Whether there is a process whose exit says something."""
    has_close: bool = False
    """Whether a session can be closed."""

    def carries(self, type_: str) -> bool:
        """Whether a request of this type can be asked at all."""
        return self.requests is None or type_ in self.requests


class Port(Protocol):
    """One connection. Its context manager is the launcher's, and reaps whatever was started."""

    @property
    def binding(self) -> Binding: ...

    async def send(self, line: bytes) -> None:
        """Gives one line out; returns when the other side has taken it. Raises `PeerUnreachable` when it is gone."""
        ...

    async def receive(self) -> bytes | None:
        """The next line; None when no more can come."""
        ...

    async def close_session(self, session_id: str) -> None:
        """Closes a session, where the binding has that. Raises `PeerRefused`."""
        ...

    def hang_up(self) -> None:
        """The end of what we send: nothing more will come."""
        ...

    def terminate(self) -> None:
        """SIGTERM, where there is a process."""
        ...

    async def exit_code(self) -> int | None:
        """How the process ended, once everything it wrote was read; negative for a signal, None where there is none."""
        ...

    @property
    def last_words(self) -> str:
        """The end of what it wrote for people."""
        ...


class Launcher(Protocol):
    """Where connections come from; each is fresh."""

    @property
    def binding(self) -> Binding: ...

    def connect(self) -> AbstractAsyncContextManager[Port]:
        """Raises `Refused` `cannot_start`."""
        ...
