"""A host changes its key: a process is stopped, another one serves, and what was held before is booked after it."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from sayso.core import b64u, strictjson
from sayso.net.fetch import Fetcher
from sayso.proof.jws import read_jws
from tests.journeys.house import Ran, sayso
from tests.journeys.test_host_by_hand import SHOP, TEN, guest_at, host, named, served


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return tmp_path / "shop-home"


def keys_at(resolve: str) -> list[tuple[str, str]]:
    """The keys that are published: kid and use."""
    name, _, address = resolve.partition("=")

    async def read() -> bytes:
        async with Fetcher({name: address}) as fetcher:
            return (await fetcher.get(f"https://{name}/.well-known/scheduling.json")).body

    document = strictjson.parse(anyio.run(read))
    assert isinstance(document, dict)
    return [(key["kid"], key["use"]) for key in document["keys"]]


@pytest.mark.req("SCH-027", "SCH-018")
def test_a_hold_of_before_a_key_change_is_booked_after_it(tmp_path: Path, shop: Path) -> None:
    """The guest notices nothing; the receipt carries the new key, and the old one is still there for what it signed."""
    assert host(shop, "init", str(SHOP), "--unprotected").code == 0
    with served(shop, SHOP) as resolve, guest_at(tmp_path, resolve) as guest:
        [(old, _)] = keys_at(resolve)
        hold = named(guest("hold", "shop.example", "resole", TEN, answers="y\n").out, "h")
        changed = host(shop, "rotate-key")
        assert (changed.code, "It signs from the next start on." in changed.out) == (0, True), changed.err
        # The host that runs publishes what it signs with, and nothing else yet.
        assert keys_at(resolve) == [(old, "sign")]
        assert "waits already" in host(shop, "rotate-key").err
        # A second process that cannot take the port changes nothing.
        port = resolve.rpartition(":")[2]
        assert host(shop, "serve", "--addr", f"127.0.0.1:{port}").code == 3
        assert "waits already" in host(shop, "rotate-key").err
    with served(shop, SHOP) as resolve:
        (new, signs), *before = keys_at(resolve)
        assert (signs, before, new in changed.out, new != old) == ("sign", [(old, "sign")], True, True)
        booked = again(tmp_path, "confirm", hold, resolve=resolve, answers="y\ny\n")
        assert (booked.code, "Confirmed" in booked.out) == (0, True), booked.err
        listed = host(shop, "bookings")
        booking = named(listed.out, "b")
        assert host(shop, "cancel", booking, "--reason", "Flooded.").code == 0
        shown = again(tmp_path, "show", booking, resolve=resolve)
        assert 'called it off: "Flooded."' in shown.out, shown.err
    assert kids(tmp_path) == {"schcp-offer+jwt": {old}, "schcp-receipt+jwt": {new}}


def again(tmp_path: Path, *arguments: str, resolve: str, answers: str = "") -> Ran:
    """The same guest, at the host's new address."""
    home = str(tmp_path / "guest-home")
    return sayso("guest", *arguments, "--resolve", resolve, "--home", home, answers=answers)


def kids(tmp_path: Path) -> dict[str, set[str]]:
    """Which keys signed what the guest keeps as evidence."""
    out = tmp_path / "log.jsonl"
    done = sayso("receipts", "export", str(out), "--with-evidence", "--home", str(tmp_path / "guest-home"))
    assert done.code == 0, done.err
    found: dict[str, set[str]] = {}
    for line in map(strictjson.parse, out.read_bytes().splitlines()):
        assert isinstance(line, dict)
        data = b64u.decode(line["evidence"]["data"]) if "evidence" in line else b""
        if data.count(b".") == 2:
            header = read_jws(data.decode("ascii")).header
            if header.kid is not None:
                found.setdefault(header.typ, set()).add(header.kid)
    return found
