"""A separate operating-system process that writes one log: opens it, says so, waits for the word, and writes.

    python tests/ledger/worker.py LOCATION NAME COUNT

Eight callers at once append and disclose in turn, COUNT receipts in all; a COUNT of 0 goes on until it is killed. Each
receipt that is answered as durable is told on standard output, one a line: `record 17 NAME-3`.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from sayso.testing.breaks import apply_from_environment

apply_from_environment(ROOT)

from sayso.core.clock import ManualClock
from sayso.ledger.ledger import Ledger
from sayso.ledger.rules.record import Draft
from sayso.store.open import open_store
from sayso.testing.store import START
from tests.ledger.logs import LOG

CALLERS = 8


async def write(ledger: Ledger, name: str, count: int) -> None:
    numbers = iter(range(count or 10**9))

    async def call() -> None:
        for number in numbers:
            draft = Draft(kind="act.done", actor=name, body={"call": f"{name}-{number}"})
            if count or number % 3:
                answered = f"record {(await ledger.append(draft)).seq}"
            else:
                answered = f"disclosure {(await ledger.disclose(draft)).number}"
            print(answered, draft.body["call"], flush=True)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(CALLERS):
            tasks.create_task(call())


def main(location: str, name: str, count: str) -> None:
    clock = ManualClock(START)
    with open_store(location, clock) as store:
        print("ready", flush=True)
        sys.stdin.readline()
        asyncio.run(write(Ledger(store, LOG, clock), name, int(count)))


if __name__ == "__main__":
    main(*sys.argv[1:])
