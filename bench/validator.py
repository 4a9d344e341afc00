"""The validator beside its floor: a long trace of the reference adapter, judged whole, and merely parsed and matched.

The floor does with each line what nobody can do without: parse it strictly, and hold it against the compiled schema.
The product does that in its own way, and judges the conversation besides.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.resources import files

import anyio
import jiter
import jsonschema_rs

from bench.measure import compare, report, stopwatch, table
from sayso.control.adapters.reference.adapter import MemoryAdapter
from sayso.control.client.local import LocalClient
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.protocol.envelope import Envelope, write_envelope
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.validation import judge

TITLE = "validator, envelopes a second"
FLOOR = "jiter + jsonschema-rs"


def make_trace(runs: int) -> list[bytes]:
    """The lines of a hub's whole conversation: `runs` plain runs of one session, and a stream for every ten."""

    async def converse() -> list[bytes]:
        lines: list[bytes] = []

        def record(envelope: Envelope[Wire]) -> None:
            lines.append(write_envelope(envelope))

        ids, clock = CountingIds(), ManualClock(datetime(2026, 10, 13, 16, tzinfo=UTC))
        registry = Registry({"memory": MemoryAdapter(clock=clock, ids=ids)})
        async with Hub(registry, clock=clock, ids=ids, record=record) as hub:
            client = LocalClient(hub, ids=ids)
            session = (await client.open("memory")).session_id
            for number in range(runs):
                admitted = await client.submit(session, "script: plain" if number % 10 else "script: stream")
                async for _ in client.events(session, run_id=str(admitted.run_id), after=0):
                    pass
            await client.close(session)
        return lines

    return anyio.run(converse)


def _envelope_schema() -> jsonschema_rs.Validator:
    folder = files("sayso.control.protocol.schema")
    documents = [json.loads(path.read_text()) for path in folder.iterdir() if path.name.endswith(".schema.json")]
    registry = jsonschema_rs.Registry([(document["$id"], document) for document in documents])
    root = next(document["$id"] for document in documents if document["$id"].endswith("/envelope.schema.json"))
    return jsonschema_rs.validator_for({"$ref": root}, registry=registry)


def _floor(lines: list[bytes]) -> Callable[[], float]:
    schema = _envelope_schema()

    def run() -> float:
        with stopwatch() as watch:
            for line in lines:
                assert schema.is_valid(jiter.from_json(line, allow_inf_nan=False, catch_duplicate_keys=True))
        return watch.rate(len(lines))

    return run


def _product(lines: list[bytes]) -> Callable[[], float]:
    trace = b"\n".join(lines) + b"\n"

    def run() -> float:
        with stopwatch() as watch:
            found = judge(trace)
        assert found.valid, found
        return watch.rate(len(lines))

    return run


def _otherwise(line: bytes) -> bytes:
    """The same envelope with its members in another order: what our writer wrote is read a shorter way."""
    members = json.loads(line)
    return json.dumps({name: members[name] for name in sorted(members)}, separators=(",", ":")).encode()


def measure(*, quick: bool = False) -> list[dict[str, object]]:
    """The rate of a long trace and of a short one, and of the long one as another program may have written it."""
    short, long = make_trace(40), make_trace(100 if quick else 1000)
    rounds = 3 if quick else 5
    cases = {"sayso validate": _product(long), FLOOR: _floor(long), f"sayso validate, {len(short):,}": _product(short)}
    rows = compare(cases, rounds=rounds)
    title = f"{TITLE}, a trace of {len(long):,}"
    print(table(title, rows, floor=FLOOR))
    other = [_otherwise(line) for line in long]
    foreign = compare({"sayso validate": _product(other), FLOOR: _floor(other)}, rounds=rounds)
    others = f"{TITLE}, the same written by somebody else"
    print(table(others, foreign, floor=FLOOR))
    return [report(title, rows, floor=FLOOR), report(others, foreign, floor=FLOOR)]
