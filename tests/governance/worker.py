"""A separate operating-system process that carries out approved acts, and may be killed at a step of its own choice.

    python tests/governance/worker.py LOCATION EFFECTS NAME STEP

    python tests/governance/worker.py forking

STEP is where it kills itself with SIGKILL: a step that `running.Watch` names, `inside` the operation before its effect,
`effect` right after it; `shared` reads one line within each act
instead; `never` runs what is due and ends. It says `ready`, waits for the word, and says `done` when nothing is left.

With `forking` it reads such arguments as JSON lists, one a line, and starts a process for each, which costs no
start-up; it answers with the process's exit status, negative for the signal that killed it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from sayso.testing.breaks import apply_from_environment

apply_from_environment(ROOT)

from sayso.core.clock import ManualClock
from sayso.governance.consent import Consent
from sayso.store.open import open_store
from sayso.testing.store import START
from tests.governance.house import House, Wanted


def say(line: str) -> None:
    print(line, flush=True)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def work(house: House, name: str, step: str) -> None:
    def watch(reached: str, _proposal: str) -> None:
        if reached == step:
            die()

    async def body(wanted: Wanted, consent: Consent | None) -> Mapping[str, Any]:
        assert consent is not None
        act = house.ran[-1][0]
        if step == "inside":
            die()
        if step == "shared":
            say(f"running {consent.call_id}")
            await asyncio.to_thread(sys.stdin.readline)
        house.do(act, str(consent.call_id))
        if step == "effect":
            die()
        return {"did": wanted.what}

    house.body = body
    executor = house.executor(name, watch=watch, at_once=1)
    while await executor.run_once():
        pass


def main(location: str, effects: str, name: str, step: str) -> None:
    clock = ManualClock(START)
    with open_store(location, clock) as store:
        house = House(store, clock, Path(effects))
        say("ready")
        sys.stdin.readline()
        asyncio.run(work(house, name, step))
        say("done")


def fork_for_each_line() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            location, effects, name, step = json.loads(line)
            with open_store(location, ManualClock(START)) as store:
                asyncio.run(work(House(store, store.clock, Path(effects)), name, step))
            os._exit(0)
        say(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))


if __name__ == "__main__":
    if sys.argv[1:] == ["forking"]:
        fork_for_each_line()
    else:
        main(*sys.argv[1:])
