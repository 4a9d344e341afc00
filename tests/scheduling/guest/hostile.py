"""A host that misbehaves: the real shop's answers, altered on their way, lost, or replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from sayso.core import strictjson
from sayso.core.refusal import PeerUnreachable
from sayso.net.fetch import Fetcher, Response
from sayso.proof.jws import read_jws, sign_jws
from tests.scheduling.host.town import DOMAIN, HOST_KEY

Rule = Callable[[Response], Response]


class HostileFetcher(Fetcher):
    """Applies the rule whose key ends the path; counts what went out; loses answers when told to."""

    def __init__(self, port: int) -> None:
        super().__init__({DOMAIN: f"127.0.0.1:{port}"})
        self.rules: dict[str, Rule] = {}
        self.lose: dict[str, int] = {}
        self.sent: list[tuple[str, str, dict[str, str], bytes]] = []

    async def request(
        self, method: str, url: str, *, headers: Iterable[tuple[str, str]] = (), body: bytes = b"", **settings: Any
    ) -> Response:
        sent = list(headers)
        self.sent.append((method, url, dict(sent), body))
        response = await super().request(method, url, headers=sent, body=body, **settings)
        for end, times in self.lose.items():
            if url.endswith(end) and times > 0:
                self.lose[end] = times - 1
                raise PeerUnreachable(DOMAIN, "the answer was lost")
        for end, rule in self.rules.items():
            if url.endswith(end):
                return rule(response)
        return response

    def count(self, end: str) -> int:
        return sum(url.endswith(end) for _, url, _, _ in self.sent)


def status(code: int) -> Rule:
    return lambda response: msgspec.structs.replace(response, status=code)


def body(data: bytes) -> Rule:
    return lambda response: msgspec.structs.replace(response, body=data)


def edited(edit: Callable[[dict[str, Any]], None]) -> Rule:
    """The JSON body after `edit`."""

    def rule(response: Response) -> Response:
        value = strictjson.parse(response.body)
        assert isinstance(value, dict)
        edit(value)
        return msgspec.structs.replace(response, body=strictjson.encode(value))

    return rule


def resigned(token: str, edit: Callable[[dict[str, Any]], None]) -> str:
    """The host's own token with other claims, signed again by the host: the worst it can do."""
    read = read_jws(token)
    claims = strictjson.parse(read.payload)
    assert isinstance(claims, dict)
    edit(claims)
    return sign_jws(claims, HOST_KEY, typ=read.header.typ, kid=read.header.kid)


def offering(edit: Callable[[dict[str, Any]], None]) -> Rule:
    """An answer whose offer the host signed with other claims."""
    return edited(lambda answer: answer.update(offer=resigned(answer["offer"], edit)))


def receipting(edit: Callable[[dict[str, Any]], None]) -> Rule:
    """An answer whose receipt the host signed with other claims."""
    return edited(lambda answer: answer.update(receipt=resigned(answer["receipt"], edit)))
