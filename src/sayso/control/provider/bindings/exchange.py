"""One request of the provider profile and its answers, whatever carries them (OAP-130, 135, 136).

A request that cannot be read is refused in the form its type has: a create as a refused create, a grant as a refused
grant. For the other types the profile has no word of refusal, so they get the `error.response` of agent control, which
every host of this protocol can read (decision 0094).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import structlog

from sayso.control.hub.answers import refuse_query
from sayso.control.protocol.codes import CODES
from sayso.control.protocol.envelope import (
    PROVIDER_PROFILE,
    VERSION,
    Envelope,
    ProviderEnvelope,
    convert_provider_envelope,
)
from sayso.control.protocol.payloads.inference import (
    InferenceCancelRequest,
    InferenceCreateRequest,
    InferenceCreateResponse,
    InferenceFailed,
    InferenceStarted,
    ProviderError,
    ProviderErrorCode,
)
from sayso.control.protocol.payloads.provider import CredentialGrantResponse
from sayso.control.protocol.payloads.scalars import UNSET, Wire
from sayso.control.protocol.types import PROVIDER_TYPES, Kind
from sayso.control.provider.contract import ProviderService
from sayso.control.provider.recording import TERMINALS
from sayso.core.ids import Ids
from sayso.core.refusal import Misuse, Refusal, Refused

__all__ = ("CREATE", "Exchange", "Said", "no_room")

Said = ProviderEnvelope[Any] | Envelope[Any]
Unary = Callable[[ProviderEnvelope[Any]], Awaitable[ProviderEnvelope[Any]]]

CREATE = "inference.create.request"
_GRANT = "provider.credential.grant.request"
_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Exchange:
    """Serves requests over one service. `most` inferences at once; one more is refused `rate_limited`."""

    service: ProviderService
    ids: Ids
    most: int = 256
    _live: set[str] = field(default_factory=set)
    _count: int = 0
    _is_closing: bool = False

    async def serve(self, value: Mapping[str, object], request_id: str) -> AsyncGenerator[Said]:
        """The answer to one request, and behind an accepted create its inference to the terminal. A bug in here is
        logged by its kind and told as `internal`, or, once an inference was accepted, as its failure.
        """
        try:
            request = self._read(value)
            if request.type == CREATE:
                async with aclosing(self._create(request)) as envelopes:
                    async for envelope in envelopes:
                        yield envelope
                return
            yield await self._unary(request)
        except Refused as refused:
            yield self.refuse(value.get("type"), refused.refusal, request_id)
        except Misuse:
            raise
        except Exception as error:  # noqa: BLE001 - whatever broke in here, the host gets a bare internal error
            _log.error("provider_request_broke", error=type(error).__name__)
            yield refuse_query(Refusal(code="internal", message=CODES["internal"].meaning), request_id, self.ids)

    async def close(self) -> None:
        """Asks every inference to stop, those under way and those that are just being accepted: each settles as
        aborted.
        """
        self._is_closing = True
        for name in sorted(self._live):
            await self._cancel(name)

    async def _cancel(self, name: str) -> None:
        request = ProviderEnvelope(
            type="inference.cancel.request",
            id=self.ids.new("req"),
            inference_id=name,
            payload=InferenceCancelRequest(),
        )
        await self.service.cancel(request)

    def refuse(self, type_: object, refusal: Refusal, request_id: str) -> Said:
        """The refusal of what could not be read."""
        error = ProviderError(code=_code_of(refusal), message=str(refusal)[:500])
        payload: Wire
        if type_ == CREATE:
            payload = InferenceCreateResponse(accepted=False, error=error)
        elif type_ == _GRANT:
            payload = CredentialGrantResponse(accepted=False, error=error)
        else:
            return refuse_query(refusal, request_id, self.ids)
        answer = PROVIDER_TYPES[str(type_)].answer
        return ProviderEnvelope(type=answer, id=self.ids.new("env"), in_reply_to=request_id, payload=payload)

    def _read(self, value: Mapping[str, object]) -> ProviderEnvelope[Any]:
        if value.get("profile") != PROVIDER_PROFILE:
            details = {"feature": "profile"}
            raise Refused.because("invalid_request", f"here {PROVIDER_PROFILE} is served", details=details)
        if value.get("version") != VERSION:
            raise Refused.because("unsupported_version", f"version {VERSION} is served here")
        request = convert_provider_envelope(value)
        if PROVIDER_TYPES[request.type].kind is not Kind.REQUEST:
            raise Refused.because("type_mismatch", "a provider takes requests", place="$.type")
        return request

    async def _unary(self, request: ProviderEnvelope[Any]) -> ProviderEnvelope[Any]:
        if request.type == _GRANT:
            # What was sent as its value is neither kept nor told to anybody.
            raise Refused.because("unsupported_feature", "no credential is taken here: the operator has put them in")
        serve: Mapping[str, Unary] = {
            "provider.describe.request": self.service.describe,
            "provider.models.list.request": self.service.models,
            "inference.cancel.request": self.service.cancel,
            "inference.sync.request": self.service.sync,
        }
        return await serve[request.type](request)

    async def _create(self, request: ProviderEnvelope[InferenceCreateRequest]) -> AsyncGenerator[Said]:
        if self._count >= self.most:
            raise Refused(no_room(self.most))
        self._count += 1
        name, last, is_begun = "", 0, False
        try:
            async with aclosing(_iterated(self.service.create(request))) as envelopes:
                async for envelope in envelopes:
                    if not name and envelope.inference_id is not UNSET:
                        name = envelope.inference_id
                        self._live.add(name)
                        if self._is_closing:
                            await self._cancel(name)
                    if envelope.type in TERMINALS:
                        self._live.discard(name)
                    last, is_begun = envelope.sequence or last, envelope.type not in TERMINALS
                    yield envelope
        except Exception as error:
            if not name or not is_begun or isinstance(error, Misuse | Refused):
                raise
            _log.error("inference_broke", error=type(error).__name__)
            for envelope in self._broken(request, name, last):
                yield envelope
        finally:
            self._live.discard(name)
            self._count -= 1

    def _broken(
        self, request: ProviderEnvelope[InferenceCreateRequest], name: str, last: int
    ) -> list[ProviderEnvelope[Wire]]:
        """What an accepted inference is owed where whatever made it broke: its next number, and a terminal."""
        told: list[Wire] = [] if last else [InferenceStarted(model_ref=request.payload.model_ref)]
        told.append(InferenceFailed(error=ProviderError(code="endpoint_error", message=CODES["internal"].meaning)))
        return [
            ProviderEnvelope(
                type="inference.started" if isinstance(payload, InferenceStarted) else "inference.failed",
                id=self.ids.new("env"),
                inference_id=name,
                sequence=number,
                payload=payload,
            )
            for number, payload in enumerate(told, last + 1)
        ]


def no_room(most: int) -> Refusal:
    """One inference too many."""
    return Refusal(code="rate_limited", message=f"{most} inferences are under way here: send this request again later")


async def _iterated(envelopes: AsyncIterator[ProviderEnvelope[Wire]]) -> AsyncGenerator[ProviderEnvelope[Wire]]:
    """Any iterator as one that can be closed."""
    try:
        async for envelope in envelopes:
            yield envelope
    finally:
        if isinstance(envelopes, AsyncGenerator):
            await envelopes.aclose()


def _code_of(refusal: Refusal) -> ProviderErrorCode:
    """A create that is malformed is an invalid request, whatever was wrong with it (wire fact 55)."""
    kept: Mapping[str, ProviderErrorCode] = {
        "unsupported_version": "unsupported_version",
        "unsupported_feature": "unsupported_feature",
        "rate_limited": "rate_limited",
    }
    return kept.get(refusal.code, "invalid_request")
