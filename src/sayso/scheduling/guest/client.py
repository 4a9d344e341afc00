"""One host's endpoint, spoken to in the agent's name (spec section 5).

Every call is signed anew, every answer read into a closed type before anybody believes it. A host's no is `PeerRefused`
with the host's name; a host that does not answer, or answers a server error, is `PeerUnreachable`; an answer that is
not of this protocol is `Refused` with answer_invalid, and agrees to nothing. A request that changes something is sent
up to three times with the same bytes, so a lost answer costs nothing (SCH-056, SCH-063, SCH-069). Judging offers and
receipts is `terms`' work.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from sayso.core import strictjson
from sayso.core.refusal import PeerRefused, PeerUnreachable, Refusal, Refused
from sayso.net.fetch import Response
from sayso.net.signing import SignedClient
from sayso.scheduling.terms.availability import AvailabilityAnswer, AvailabilityRequest
from sayso.scheduling.terms.booking import CancelRequest
from sayso.scheduling.terms.change import AbandonRequest, AcceptRequest, ChangeRequest, ChangeView
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.hold import ConfirmRequest, HoldRequest, HoldView, ReleaseRequest, Settled
from sayso.scheduling.terms.mandate import MANDATE_HEADER
from sayso.scheduling.terms.participant import AnswerInvitationRequest, InvitationView
from sayso.scheduling.terms.reconfirm import ReconfirmRequest
from sayso.scheduling.terms.refusal import RefusalBody
from sayso.scheduling.terms.waitlist import JoinRequest, LeaveRequest, WaitlistEntry
from sayso.scheduling.terms.wire import VERSION

__all__ = ("HostClient",)

_ATTEMPTS = 3
_VERSION = ("SchCP-Version", VERSION)

T = TypeVar("T", bound=msgspec.Struct)


class HostClient:
    """The routes of section 5.4, typed. `mandate` is the compact token to present."""

    def __init__(self, signed: SignedClient, document: Discovery) -> None:
        self._signed = signed
        self._base = document.endpoint
        self._peer = document.title

    async def availability(self, ask: AvailabilityRequest, mandate: str | None = None) -> AvailabilityAnswer:
        return await self._read("POST", "/availability", AvailabilityAnswer, strictjson.encode(ask), mandate)

    async def hold(self, ask: HoldRequest, mandate: str) -> HoldView:
        return await self._change("/holds", ask, HoldView, status=201, mandate=mandate)

    async def read_hold(self, hold_id: str) -> HoldView:
        return await self._read("GET", f"/holds/{hold_id}", HoldView)

    async def confirm(self, hold_id: str, ask: ConfirmRequest, mandate: str) -> Settled:
        return await self._change(f"/holds/{hold_id}/confirm", ask, Settled, status=201, mandate=mandate)

    async def release(self, hold_id: str, ask: ReleaseRequest) -> HoldView:
        return await self._change(f"/holds/{hold_id}/release", ask, HoldView)

    async def read_booking(self, booking_id: str) -> Settled:
        return await self._read("GET", f"/bookings/{booking_id}", Settled)

    async def cancel(self, booking_id: str, ask: CancelRequest, mandate: str) -> Settled:
        return await self._change(f"/bookings/{booking_id}/cancel", ask, Settled, mandate=mandate)

    async def reconfirm(self, booking_id: str, ask: ReconfirmRequest, mandate: str) -> Settled:
        return await self._change(f"/bookings/{booking_id}/reconfirm", ask, Settled, mandate=mandate)

    async def request_change(self, booking_id: str, ask: ChangeRequest, mandate: str) -> ChangeView:
        return await self._change(f"/bookings/{booking_id}/changes", ask, ChangeView, status=201, mandate=mandate)

    async def accept_change(self, booking_id: str, offer_id: str, ask: AcceptRequest, mandate: str) -> Settled:
        return await self._change(f"/bookings/{booking_id}/changes/{offer_id}/accept", ask, Settled, mandate=mandate)

    async def read_change(self, booking_id: str, offer_id: str) -> ChangeView:
        return await self._read("GET", f"/bookings/{booking_id}/changes/{offer_id}", ChangeView)

    async def abandon_change(self, booking_id: str, offer_id: str, ask: AbandonRequest) -> ChangeView:
        return await self._change(f"/bookings/{booking_id}/changes/{offer_id}/abandon", ask, ChangeView)

    async def read_invitation(self, booking_id: str, mandate: str) -> InvitationView:
        return await self._read("GET", f"/bookings/{booking_id}/invitation", InvitationView, mandate=mandate)

    async def answer_invitation(self, booking_id: str, ask: AnswerInvitationRequest, mandate: str) -> InvitationView:
        return await self._change(f"/bookings/{booking_id}/answer", ask, InvitationView, mandate=mandate)

    async def join_waitlist(self, ask: JoinRequest, mandate: str) -> WaitlistEntry:
        return await self._change("/waitlist", ask, WaitlistEntry, status=201, mandate=mandate)

    async def read_entry(self, entry_id: str) -> WaitlistEntry:
        return await self._read("GET", f"/waitlist/{entry_id}", WaitlistEntry)

    async def leave_waitlist(self, entry_id: str, ask: LeaveRequest) -> WaitlistEntry:
        return await self._change(f"/waitlist/{entry_id}/leave", ask, WaitlistEntry)

    async def _read(self, method: str, path: str, answer: type[T], body: bytes = b"", mandate: str | None = None) -> T:
        headers = (_VERSION,) if mandate is None else (_VERSION, (MANDATE_HEADER, mandate))
        response = await self._signed.send(method, self._base + path, body, extra_headers=headers)
        return self._answer(response, answer, 200)

    async def _change(
        self, path: str, ask: msgspec.Struct, answer: type[T], *, status: int = 200, mandate: str | None = None
    ) -> T:
        body = strictjson.encode(ask)
        headers = (_VERSION,) if mandate is None else (_VERSION, (MANDATE_HEADER, mandate))
        last: PeerUnreachable | None = None
        # No pause in between: what a retry is for is the answer lost on the way, and the person is waiting.
        for _ in range(_ATTEMPTS):
            try:
                response = await self._signed.send("POST", self._base + path, body, extra_headers=headers)
                return self._answer(response, answer, status)
            except PeerUnreachable as error:
                last = PeerUnreachable(self._peer, error.why)
        assert last is not None
        raise last

    def _answer(self, response: Response, type_: type[T], status: int) -> T:
        if response.status >= 500:
            raise PeerUnreachable(self._peer, f"it answered {response.status}")
        if response.status >= 400:
            raise PeerRefused(self._peer, self._refusal(response))
        if response.status != status:
            raise refused("answer_invalid", f"{self._peer} answered {response.status} where {status} belongs.")
        try:
            return strictjson.decode(response.body, type_)
        except Refused as error:
            raise self._invalid(error) from None

    def _refusal(self, response: Response) -> Refusal:
        """A host's no in the shape our user sees; what it says is its own word."""
        try:
            said = strictjson.decode(response.body, RefusalBody).refusal
        except Refused as error:
            raise self._invalid(error) from None
        details = {
            "contact": msgspec.to_builtins(said.contact),
            **({"alternatives": msgspec.to_builtins(said.alternatives)} if said.alternatives else {}),
            **({"retry_after": said.retry_after} if said.retry_after else {}),
        }
        return Refusal(
            code=said.code, reason=said.reason, message=said.message, place=said.place, help=said.help, details=details
        )

    def _invalid(self, error: Refused) -> Refused:
        found = error.refusal
        return refused("answer_invalid", f"{self._peer} sent what cannot be read: {found.message}", place=found.place)
