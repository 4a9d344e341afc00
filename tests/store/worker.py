"""A separate operating-system process on a store: opens it, says that it is ready, waits for the word, acts, answers.

Run as `python tests/store/worker.py COMMAND LOCATION [ARGUMENT ...]`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from sayso.testing.breaks import apply_from_environment

apply_from_environment(ROOT)

from sayso.core.clock import ManualClock
from sayso.core.gcra import Limit
from sayso.store import buckets, nonces, outbox, replay
from sayso.store.open import open_store
from sayso.store.unit import Store, Unit
from sayso.testing.store import START
from tests.store.rows import add, increment


def spend(store: Store, scope: str, nonce: str) -> bool:
    return store.run(lambda unit: nonces.spend(unit, scope, nonce, START + timedelta(seconds=70)))


def count(store: Store, key: str, times: str) -> int:
    for _ in range(int(times)):
        store.run(lambda unit: increment(unit, key))
    return int(times)


def charge(store: Store, key: str, times: str) -> int:
    limits = [(f"{key} minute", Limit(timedelta(minutes=1), 20)), (f"{key} hour", Limit(timedelta(hours=1), 1000))]
    verdicts = [store.run(lambda unit: buckets.charge(unit, limits)) for _ in range(int(times))]
    return sum(isinstance(verdict, buckets.Admitted) for verdict in verdicts)


def act_once(store: Store, key: str) -> str:
    def act(unit: Unit) -> replay.Claim:
        claim = replay.claim(unit, key, b"\1" * 32, START + timedelta(hours=24))
        if isinstance(claim, replay.Fresh):
            increment(unit, "effects")
            replay.keep(unit, key, 201, b"booked")
        return claim

    return type(store.run(act)).__name__


def drain(store: Store, topic: str, worker: str) -> list[str]:
    taken: list[str] = []
    while batch := store.run(lambda unit: outbox.claim(unit, topic, worker, timedelta(minutes=1), limit=3)):
        taken += [delivery.key for delivery in batch]
    return taken


def announce(store: Store, channel: str) -> None:
    store.run(lambda unit: unit.wake(channel))


def stop_inside(store: Store, *names: str) -> None:
    def body(unit: Unit) -> None:
        for key in names:
            add(unit, key)
        say("inside")
        sys.stdin.readline()

    store.run(body)


COMMANDS: dict[str, Callable[..., object]] = {
    each.__name__: each for each in (spend, count, charge, act_once, drain, announce, stop_inside)
}


def say(value: object) -> None:
    print(json.dumps(value), flush=True)


def main(command: str, location: str, *arguments: str) -> None:
    with open_store(location, ManualClock(START)) as store:
        say("ready")
        sys.stdin.readline()
        say(COMMANDS[command](store, *arguments))


if __name__ == "__main__":
    main(*sys.argv[1:])
