"""What holds between processes that serve one database: every rule of the guard is the database's, not a process's."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from sayso.core.clock import FileClock, write_clock_file
from sayso.proof.hashes import sha256_b64u
from sayso.proof.keys import PrivateKey
from sayso.testing.gateway import Bench, open_gateway, sign
from sayso.testing.store import START
from tests.gateway.wire import Got, call, echo

pytestmark = pytest.mark.anyio
WORKER = Path(__file__).with_name("worker.py")
KEY = PrivateKey.from_seed(bytes(32))
WIDE = {
    "SAYSO_GATEWAY_REQUESTS_PER_SECOND": "100000",
    "SAYSO_GATEWAY_CALLS_PER_SECOND": "100000",
    "SAYSO_GATEWAY_CALLS_PER_MINUTE": "100000",
}


@pytest.fixture
def clock_file(tmp_path: Path) -> Path:
    path = tmp_path / "clock.json"
    write_clock_file(path, START)
    return path


@pytest.fixture
async def bench(location: str, clock_file: Path, tmp_path: Path) -> AsyncIterator[Bench]:
    async with open_gateway(tmp_path, clock=FileClock(clock_file), location=location) as opened:
        yield opened


class House(NamedTuple):
    """A process that serves."""

    url: str
    process: subprocess.Popen[str]


@contextmanager
def houses(location: str, clock_file: Path, count: int, limits: Mapping[str, str] = {}) -> Iterator[list[str]]:
    """So many processes, each serving; their URLs."""
    with processes(location, clock_file, count, limits) as started:
        yield [house.url for house in started]


@contextmanager
def processes(location: str, clock_file: Path, count: int, limits: Mapping[str, str] = {}) -> Iterator[list[House]]:
    """So many processes, each serving, killed at the end if not before."""
    started = [
        subprocess.Popen(
            [sys.executable, str(WORKER), location, str(clock_file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **limits},
        )
        for _ in range(count)
    ]
    try:
        serving = []
        for process in started:
            assert process.stdout is not None
            serving.append(House(process.stdout.readline().strip(), process))
        assert all(house.url for house in serving), "a house ended without a word"
        yield serving
    finally:
        for process in started:
            process.kill()
            process.communicate()


async def at_once(requests: list[tuple[str, bytes, Mapping[str, str]]], width: int = 16) -> list[Got]:
    """Sends requests, many of them at the same time, each to its house."""
    gate = asyncio.Semaphore(width)

    async def one(url: str, body: bytes, headers: Mapping[str, str]) -> Got:
        async with gate:
            return await call(url, body, headers, method="POST" if body else "GET")

    return list(await asyncio.gather(*(one(*request) for request in requests)))


@pytest.mark.req("GTW-053", "GTW-050")
async def test_four_processes_receipt_a_thousand_crossings_without_a_gap(
    bench: Bench, location: str, clock_file: Path
) -> None:
    """250 each; every answer has its receipt, none twice, none missing, and the log verifies."""
    ada = await bench.issue("ada")
    with houses(location, clock_file, 4, WIDE) as urls:
        requests = []
        for number in range(1000):
            body = echo(f"{number}")
            requests.append((urls[number % 4], body, sign(ada.key, body, clock=bench.clock)))
        got = await at_once(requests)
    assert Counter(each.status for each in got) == {200: 1000}
    leaves = await bench.ledger.disclosures()
    assert [leaf.number for leaf in leaves] == list(range(1000))
    assert len({leaf.inputs_sha256 for leaf in leaves}) == 1000
    await bench.ledger.seal()
    await bench.ledger.checkpoint(KEY)
    assert (await bench.ledger.verify(KEY.public)).receipts >= 1001


@pytest.mark.req("GTW-053")
@pytest.mark.parametrize("after", [3, 40])
async def test_a_house_killed_under_load_has_receipted_whatever_it_answered(
    bench: Bench, location: str, clock_file: Path, after: int
) -> None:
    """SIGKILL at any moment: no answer without its receipt, no gap, no half receipt, and another house goes on."""
    ada = await bench.issue("ada")
    answered: set[str] = set()
    with processes(location, clock_file, 1, WIDE) as (house,):

        async def ask(caller: int) -> None:
            for number in range(10_000):
                body = echo(f"{caller} {number}")
                try:
                    got = await call(house.url, body, sign(ada.key, body, clock=bench.clock))
                except (OSError, asyncio.IncompleteReadError):
                    return
                assert got.status == 200
                answered.add(sha256_b64u(body))
                if len(answered) == after:
                    house.process.kill()

        await asyncio.gather(*(ask(caller) for caller in range(8)))
    assert len(answered) >= after
    with houses(location, clock_file, 1, WIDE) as (url,):
        last = echo("after")
        assert (await call(url, last, sign(ada.key, last, clock=bench.clock))).status == 200
    leaves = await bench.ledger.disclosures()
    assert [leaf.number for leaf in leaves] == list(range(len(leaves)))
    assert answered | {sha256_b64u(last)} <= {leaf.inputs_sha256 for leaf in leaves}
    await bench.ledger.seal()
    await bench.ledger.checkpoint(KEY)
    assert (await bench.ledger.verify(KEY.public)).receipts > len(leaves)


@pytest.mark.req("GTW-012")
async def test_one_signed_request_at_once_on_two_processes_has_one_effect(
    bench: Bench, location: str, clock_file: Path
) -> None:
    """Whichever settles first answers; the other is a replay. Twenty pairs, each proposing once."""
    ada = await bench.issue("ada")
    with houses(location, clock_file, 2, WIDE | {"SAYSO_GATEWAY_VIOLATIONS": "1000"}) as urls:
        requests = []
        for number in range(20):
            body = echo(f"{number}", "take_note")
            headers = sign(ada.key, body, clock=bench.clock)
            requests += [(url, body, headers) for url in urls]
        got = await at_once(requests)
    assert Counter(each.status for each in got) == {200: 20, 403: 20}
    assert {each.code for each in got if each.status == 403} == {"replayed_signature"}
    assert sorted(each.arguments["text"] for each in await bench.gate.list()) == sorted(map(str, range(20)))


@pytest.mark.req("GTW-020", "GTW-020a")
async def test_limits_are_exact_when_processes_share_the_load(bench: Bench, location: str, clock_file: Path) -> None:
    """At one instant a burst of three passes on all processes together, and exactly one more a third of a second on."""
    ada = await bench.issue("ada")
    wide = {"SAYSO_GATEWAY_REQUESTS_PER_SECOND": "100000"}
    with houses(location, clock_file, 3, wide) as urls:

        async def storm(round_: int) -> int:
            requests = []
            for number in range(30):
                body = echo(f"{round_} {number}")
                requests.append((urls[number % 3], body, sign(ada.key, body, clock=bench.clock)))
            return sum(each.status == 200 for each in await at_once(requests))

        passed = [await storm(0), await storm(1)]
        write_clock_file(clock_file, START + timedelta(milliseconds=334))
        passed.append(await storm(2))
    assert passed == [3, 0, 1]


@pytest.mark.req("GTW-013")
async def test_a_suspension_is_seen_by_every_process_at_once_and_after_a_restart(
    bench: Bench, location: str, clock_file: Path
) -> None:
    """Violations on two processes add up; the fifth suspends on both, and a process that starts later knows it."""
    ada = await bench.issue("ada")
    with houses(location, clock_file, 2) as urls:
        left = []
        for number in range(5):
            headers = sign(ada.key, b"other", clock=bench.clock)
            got = await call(urls[number % 2], echo(), headers)
            left.append((got.code, got.headers["x-osz-violations-left"]))
        assert left == [("bad_signature", str(4 - number)) for number in range(5)]
        for url in urls:
            assert (await call(url, echo(), sign(ada.key, echo(), clock=bench.clock))).code == "agent_suspended"
    with houses(location, clock_file, 1) as urls:
        assert (await call(urls[0], echo(), sign(ada.key, echo(), clock=bench.clock))).code == "agent_suspended"
        fresh = await bench.agents.reissue(ada.agent.id, by="owner")
        write_clock_file(clock_file, START + timedelta(seconds=1))
        assert (await call(urls[0], echo(), sign(fresh.key, echo(), clock=bench.clock))).status == 200


@pytest.mark.req("GTW-013")
async def test_violations_at_once_on_two_processes_are_counted_one_by_one(
    bench: Bench, location: str, clock_file: Path
) -> None:
    """No two answers say the same number is left, and exactly five are counted."""
    ada = await bench.issue("ada")
    wide = {"SAYSO_GATEWAY_REQUESTS_PER_SECOND": "1000"}
    with houses(location, clock_file, 2, wide) as urls:
        requests = [(urls[n % 2], echo(), sign(ada.key, b"other", clock=bench.clock)) for n in range(12)]
        got = await at_once(requests)
    left = Counter((each.code, each.headers["x-osz-violations-left"]) for each in got)
    assert left == {**{("bad_signature", str(n)): 1 for n in range(5)}, ("agent_suspended", "0"): 7}
    assert len(await bench.agents.violations()) == 5


@pytest.mark.req("GTW-010")
async def test_a_revoked_key_fails_on_the_very_next_request_of_another_process(
    bench: Bench, location: str, clock_file: Path
) -> None:
    """The one before it passed."""
    ada = await bench.issue("ada")
    with houses(location, clock_file, 1) as (url,):
        assert (await call(url, echo(), sign(ada.key, echo(), clock=bench.clock))).status == 200
        await bench.agents.revoke(ada.key_id, by="owner")
        assert (await call(url, echo(), sign(ada.key, echo(), clock=bench.clock))).code == "unknown_key"
        other = await bench.agents.rotate(ada.agent.id, by="owner")
        assert (await call(url, echo(), sign(other.key, echo(), clock=bench.clock))).status == 200
