"""Crossings made by hand, for what is decided above HTTP."""

from __future__ import annotations

from collections.abc import Mapping

from sayso.core.refusal import Refused
from sayso.gateway.crossing import Answer, Crossing
from sayso.gateway.gateway import Passage
from sayso.testing.gateway import Bench, ToyDoor, sign
from tests.gateway.wire import echo

__all__ = ("DOOR", "codes_of", "crossing", "knock", "last", "receipts", "signed")

DOOR = ToyDoor()


def crossing(
    headers: Mapping[str, str], body: bytes = b"", method: str = "POST", target: str = "/", peer: str = "192.0.2.1"
) -> Crossing:
    pairs = tuple((name.lower().encode(), value.encode()) for name, value in headers.items())
    return Crossing(door="mcp", method=method, target=target.encode(), headers=pairs, body=body, peer=peer)


def signed(bench: Bench, key: str, body: bytes | None = None, *, method: str = "POST", target: str = "/") -> Crossing:
    """A request as a client of good will signs it."""
    body = echo() if body is None else body
    return crossing(sign(key, body, method, target, clock=bench.clock, v2=True), body, method, target)


async def knock(bench: Bench, request: Crossing) -> Answer:
    """What the toy door answers, without HTTP around it."""
    passage = await bench.gateway.enter(request, DOOR.deny)
    if not isinstance(passage, Passage):
        return passage
    try:
        answer = await DOOR.answer(passage)
    except Refused as no:
        answer = await passage.refuse(no.refusal)
    assert isinstance(answer, Answer)
    return answer


async def receipts(bench: Bench) -> list[tuple[str, str, object]]:
    """Every crossing's receipt: kind, actor, code."""
    return [(each.kind, each.actor, each.body.get("code")) for each in await bench.ledger.disclosures()]


async def last(bench: Bench) -> tuple[str, str, object]:
    """The newest of them."""
    return (await receipts(bench))[-1]


async def codes_of(bench: Bench, requests: list[Crossing]) -> list[int]:
    """The statuses of requests sent one after another."""
    return [(await knock(bench, request)).status for request in requests]
