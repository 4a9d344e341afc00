"""What a person is told when the other side, or the wire to it, does not keep its word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from sayso.core import strictjson
from sayso.testing.tampering import tampering_with
from sayso.world.places import ports_file
from tests.journeys.house import ASKS, MAPLE, Ran, ask, facts, kinds, running

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def flipped(token: str) -> str:
    """A signed token with one character of its payload changed."""
    head, payload, signature = token.split(".")
    middle = len(payload) // 2
    other = "A" if payload[middle] != "A" else "B"
    return f"{head}.{payload[:middle]}{other}{payload[middle + 1 :]}.{signature}"


def altering(ending: str, member: str) -> Callable[[str, bytes], bytes]:
    """Changes one signed member of the answers whose path ends so."""

    def alter(path: str, body: bytes) -> bytes:
        value = strictjson.parse(body) if path.endswith(ending) else None
        if not isinstance(value, dict) or member not in value:
            return body
        return strictjson.encode({**value, member: flipped(str(value[member]))})

    return alter


async def ask_through(home: Path, alter: Callable[[str, bytes], bytes]) -> Ran:
    """Asks in a world whose garage is reached through a dishonest wire."""
    with running("world", "serve", "--home", str(home), "--json") as (_, line):
        ports = strictjson.parse(line.encode())["ports"]
        async with tampering_with(ports[MAPLE], alter) as address:
            ports_file(home).write_bytes(strictjson.encode({**ports, MAPLE: str(address)}))
            return await anyio.to_thread.run_sync(lambda: ask(home, ASKS, answers="y\ny\n"))


@pytest.mark.req("SCH-193")
async def test_an_altered_receipt_is_never_called_booked(home: Path) -> None:
    """The run fails, the person is told that the booking cannot be relied on, and no receipt claims it."""
    done = await ask_through(home, altering("/confirm", "receipt"))
    assert done.code == 1, done.out
    assert "Confirmed" not in done.out
    assert "Booked" not in done.out
    found = kinds(home)
    assert ("guest.booking_confirmed" in found, "guest.booking_receipt" in found) == (False, False)
    assert [r["body"].get("code") for r in facts(home) if r["kind"] == "act.failed"] != []


@pytest.mark.req("SCH-158", "SCH-167")
async def test_an_altered_offer_is_never_shown_to_the_person(home: Path) -> None:
    """Nobody is asked to approve terms the host did not sign, and the hold is given back."""
    done = await ask_through(home, altering("/holds", "offer"))
    assert (done.code, "I approve" in done.out) == (1, False), done.out
    assert "guest.booking_confirmed" not in kinds(home)


async def test_an_honest_wire_changes_nothing(home: Path) -> None:
    """The proxy alone breaks nothing, so the two tests above mean something."""
    done = await ask_through(home, lambda _path, body: body)
    assert done.code == 0, done.out
