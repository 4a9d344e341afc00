"""What can go wrong between a client and its hub, told apart by what the caller does next (OAP-204).

`ServerError` is the hub's own no, with its code. `ReplayGapError` names what is still kept, `OverflowError` and
`DisconnectError` where to go on; both are unseen unless strict resume was asked for. All of them are of the house's two
kinds for another party, so a caller that does not care catches `PeerRefused` and `PeerUnreachable`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sayso.core.refusal import PeerRefused, PeerUnreachable, Refusal

__all__ = ("ClientError", "DisconnectError", "OverflowError", "ReplayGapError", "ServerError")


class ClientError(Exception):
    """Everything below."""


class ServerError(ClientError, PeerRefused):
    """The hub refused, or broke the protocol (`protocol_violation`)."""

    @property
    def code(self) -> str:
        """The code of the `error.response`."""
        return self.refusal.code

    @property
    def details(self) -> Mapping[str, Any]:
        """What the hub says besides."""
        return self.refusal.details


class ReplayGapError(ServerError):
    """The events behind the cursor are no longer kept: go on at `oldest_available - 1`."""

    def __init__(self, peer: str, run_id: str, oldest_available: int, latest_available: int) -> None:
        details = {"oldest_available": oldest_available, "latest_available": latest_available}
        message = "the events after the cursor are no longer kept"
        super().__init__(peer, Refusal(code="replay_gap", message=message, details=details))
        self.run_id = run_id
        self.oldest_available = oldest_available
        self.latest_available = latest_available


class OverflowError(ClientError, PeerUnreachable):  # noqa: A001 - the protocol's word for it; never the arithmetic one
    """The reader fell behind and was let go: go on after `last_sequence` of `run_id`."""

    def __init__(self, peer: str, run_id: str, last_sequence: int) -> None:
        super().__init__(peer, f"this reader fell behind event {last_sequence}")
        self.run_id = run_id
        self.last_sequence = last_sequence


class DisconnectError(ClientError, PeerUnreachable):
    """The stream was cut: go on after `last_sequence` of `run_id`; both are None when nothing had come."""

    def __init__(self, peer: str, why: str, run_id: str | None, last_sequence: int | None) -> None:
        super().__init__(peer, why)
        self.run_id = run_id
        self.last_sequence = last_sequence
