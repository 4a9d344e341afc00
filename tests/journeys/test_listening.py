"""A guest listens in one process, a host is served in another, and its owner acts in a third: news comes by itself."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from sayso.core.clock import SystemClock
from sayso.store.open import open_store
from sayso.store.statements import statement
from sayso.store.tables.scheduling import host_hold
from tests.journeys.house import running, sayso
from tests.journeys.test_host_by_hand import SHOP, TEN, guest_at, host, named

NAME = "assistant.example"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return tmp_path / "shop-home"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def told_where(shop: Path) -> list[tuple[str]]:
    """The address that each hold at the host carries."""
    with open_store(shop / "sayso.db", SystemClock()) as store:
        asked = statement(host_hold.select().with_only_columns(host_hold.c.callback_url))
        return [tuple(row) for row in store.read(lambda view: view.all(asked))]


@pytest.mark.req("SCH-320", "SCH-322")
def test_what_a_host_does_is_heard_while_it_happens_and_kept(tmp_path: Path, shop: Path) -> None:
    """Signed by the host's key, read again, proved, and then said; with the host gone it is still known."""
    assert host(shop, "init", str(SHOP), "--unprotected").code == 0
    port = free_port()
    at = ("--resolve", f"{NAME}=127.0.0.1:{port}")
    with running("host", "serve", str(SHOP), "--home", str(shop), *at) as (child, line):
        assert child.stdout is not None, line
        resolve = child.stdout.readline().split("--resolve ")[1].strip()
        with guest_at(tmp_path, resolve) as guest:
            home = tmp_path / "guest-home"
            silent = guest("listen")
            assert (silent.code, "callback_url" in silent.err) == (1, True), silent.err
            (home / "settings.toml").write_text(f'callback_url = "https://{NAME}/heard"\n')
            listening = ("guest", "listen", "--home", str(home), "--resolve", resolve, "--addr", f"127.0.0.1:{port}")
            with running(*listening) as (ear, said):
                assert ear.stdout is not None
                assert said.startswith(f"https://{NAME}/heard is heard at http://127.0.0.1:"), said
                assert "--resolve" in ear.stdout.readline()
                held = guest("hold", "shop.example", "resole", TEN, answers="y\n")
                assert told_where(shop) == [(f"https://{NAME}/heard",)]
                booked = guest("confirm", named(held.out, "h"), answers="y\ny\n")
                booking = named(booked.out, "b")
                assert host(shop, "cancel", booking, "--reason", "Flooded.").code == 0
                assert ear.stdout.readline() == f"shop.example: booking {booking} is called off.\n"
    shown = sayso("guest", "show", "--home", str(home))
    assert ('called it off: "Flooded."' in shown.out, shown.code) == (True, 0), shown.err
