"""Asking a vendor which models it has: every page of its list, within bounds (OAP-144, OAP-147, OAP-154).

The same rules as for an inference: to the origin of the row's own address and nowhere else, no redirect, no proxy,
cookie or credential from the environment, the credential in one header and in no error.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

import anyio
import httpx2

from sayso.control.provider.catalog.listing import ListedModel, Page, first_query, read_page
from sayso.control.provider.wires.connection import Failed, verify_sendable
from sayso.control.provider.wires.faults import failure_of_status
from sayso.control.provider.wires.messages.codec import HEADERS as MESSAGES_HEADERS
from sayso.control.provider.wires.offering import origin_of
from sayso.core.refusal import PeerUnreachable, Refused
from sayso.net.direct import direct_client

__all__ = ("fetch_models",)

_PAGES = 20
_MODELS = 5000
_PAGE_BYTES = 8 * 1024 * 1024
_SECONDS = 20.0
_FAILURES = (httpx2.TransportError, httpx2.DecodingError, anyio.BrokenResourceError, OSError)
_HEADERS = (("accept", "application/json"), ("accept-encoding", "identity"), ("user-agent", "sayso"))
Header = tuple[str, str]


async def fetch_models(
    peer: str, wire: str, models_url: str, credential: Header | None, *, seconds: float = _SECONDS
) -> tuple[ListedModel, ...]:
    """The models behind `models_url`, in the vendor's order, each once; at most 5,000 and 20 pages of 8 MiB.

    Refused with a code of the profile: the vendor said no, or answered with something else than a list.
    PeerUnreachable (`peer` is the name people know): no answer, or none within `seconds`.
    """
    headers = [*_HEADERS, *(MESSAGES_HEADERS if wire == "anthropic-messages" else ())]
    if credential is not None:
        headers.append(credential)
    secret = credential[1].removeprefix("Bearer ") if credential is not None else None
    found: dict[str, ListedModel] = {}
    try:
        if secret is not None:
            verify_sendable(secret)
        with anyio.fail_after(seconds):
            async with direct_client(seconds) as http:
                http.headers.clear()
                await _collect(http, models_url, headers, first_query(wire), found)
    except Failed as failed:
        failure = failed.failure
        raise Refused.because(failure.code, failure.words(secret), reason=failure.reason) from None
    except TimeoutError:
        raise PeerUnreachable(peer, f"no whole list within {seconds:g} s") from None
    except _FAILURES:
        raise PeerUnreachable(peer, "the connection failed") from None
    return tuple(found.values())[:_MODELS]


async def _collect(
    http: httpx2.AsyncClient,
    url: str,
    headers: list[Header],
    query: Sequence[Header],
    found: dict[str, ListedModel],
) -> None:
    asked: set[Header] = set()
    after: Header | None = None
    for _ in range(_PAGES):
        page = await _page(http, url, headers, [*query, *([after] if after else [])])
        for model in page.models:
            found.setdefault(model.id, model)
        after = page.next
        # A cursor that comes again would go on for ever.
        if after is None or after in asked or len(found) >= _MODELS:
            return
        asked.add(after)


async def _page(http: httpx2.AsyncClient, url: str, headers: list[Header], query: Sequence[Header]) -> Page:
    whole = f"{url}?{urlencode(query)}" if query else url
    if origin_of(whole) != origin_of(url):
        raise Refused.because("config_invalid", "a list of models is asked for where the provider is")
    request = http.build_request("GET", whole, headers=headers)
    response = await http.send(request, stream=True)
    try:
        body = b""
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > _PAGE_BYTES:
                raise Refused.because("endpoint_error", "its list of models is larger than allowed", reason="too_large")
    finally:
        await response.aclose()
    if response.status_code != 200:
        failure = failure_of_status(response.status_code, body, None)
        raise Failed(failure)
    return read_page(body)
