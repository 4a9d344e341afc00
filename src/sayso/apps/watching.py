"""Seeing what goes out and comes back: a fetcher that shows each exchange to whoever watches. Changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from sayso.net.fetch import Fetcher, Response

__all__ = ("Exchange", "Watch", "WatchingFetcher")


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One request and its whole answer."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    response: Response


Watch = Callable[[Exchange], None]


class WatchingFetcher(Fetcher):
    """A `Fetcher` that tells `watch` of each exchange that had an answer."""

    def __init__(self, resolve: dict[str, str], watch: Watch) -> None:
        super().__init__(resolve)
        self._watch = watch

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes = b"",
        accept: str | None = None,
        max_bytes: int = 262_144,
        seconds: float = 5.0,
    ) -> Response:
        sent = tuple(headers)
        response = await super().request(
            method, url, headers=sent, body=body, accept=accept, max_bytes=max_bytes, seconds=seconds
        )
        self._watch(Exchange(method=method, url=url, headers=sent, body=body, response=response))
        return response
