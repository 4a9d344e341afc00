"""A gateway on a real store for tests, with toy acts, real keys and clients that sign.

    async with open_gateway(tmp_path) as bench:
        ada = await bench.issue("ada")
        async with serving_door(bench, ToyDoor()) as url: ...

The toy acts: `echo` discloses, `take_note` changes something that is nobody else's, `call_neighbour` touches others.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.routing import Route

from sayso.core import strictjson
from sayso.core.clock import Clock, ManualClock
from sayso.core.ids import Ids, SystemIds
from sayso.core.refusal import Refused
from sayso.gateway.crossing import Answer, Crossing, Denial, Stream
from sayso.gateway.doors.door import Door, door_app
from sayso.gateway.gateway import Gateway, Passage
from sayso.gateway.guard.agents import Agents, Issued, standing_of
from sayso.gateway.guard.metrics import Metrics
from sayso.gateway.guard.rules.codes import find_code, refusal
from sayso.gateway.guard.rules.headers import is_signed
from sayso.gateway.guard.rules.limits import DEFAULTS, Limits, scan_depth
from sayso.gateway.guard.rules.standing import SCOPES
from sayso.gateway.guard.watch import Watch
from sayso.governance.acts import Act, ActClass, Registry, Repeats
from sayso.governance.consent import Consent, ConsentSource
from sayso.governance.constitution import Constitution
from sayso.governance.execution import Executor
from sayso.governance.gate import Gate
from sayso.governance.governor import Governor
from sayso.ledger.ledger import Ledger
from sayso.net.listen import serving
from sayso.proof.requestmac import sign_request_mac, sign_request_mac_v2
from sayso.store.open import open_store
from sayso.store.tables import micros
from sayso.store.unit import Store
from sayso.testing.store import START, fresh_file

__all__ = ("LOG", "OWNER", "Bench", "Notes", "ToyDoor", "open_gateway", "register_toys", "serving_door", "sign")

OWNER = "ada"
LOG = "home"


@dataclass
class Notes:
    """What the toy acts did, for tests that count effects."""

    taken: dict[str, str] = field(default_factory=dict)
    called: list[str] = field(default_factory=list)


class Text(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of every toy act."""

    text: str


class Anything(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments whose depth is the caller's."""

    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Everything a door is given, opened."""

    store: Store
    ledger: Ledger
    registry: Registry
    governor: Governor
    gate: Gate
    executor: Executor
    gateway: Gateway
    agents: Agents
    clock: Clock
    ids: Ids
    notes: Notes

    async def issue(self, name: str, scopes: frozenset[str] = SCOPES) -> Issued:
        """A new agent with its key."""
        return await self.agents.issue(name, by=OWNER, scopes=scopes)


@asynccontextmanager
async def open_gateway(
    folder: Path,
    *,
    clock: Clock | None = None,
    register: Callable[[Registry], None] | None = None,
    sources: Sequence[ConsentSource] = (),
    limits: Limits = DEFAULTS,
    location: str | None = None,
    owner: str = OWNER,
    watch: Watch | None = None,
    metrics: Metrics | None = None,
) -> AsyncIterator[Bench]:
    """A gateway on a SQLite file in `folder`, or on the database at `location` (as `open_store` takes it).

    The file is made where there is none, so that opening the same folder again is a restart. The clock stands still
    unless another is given, and the executor does not run: `await bench.executor.run_once()`.
    """
    clock = clock or ManualClock(START)
    file = folder / "gateway.db"
    with open_store(location or (file if file.exists() else fresh_file(file)), clock) as store:
        ledger, ids = Ledger(store, LOG, clock), SystemIds()
        registry, notes = Registry(), Notes()
        register_toys(registry, notes)
        if register is not None:
            register(registry)
        constitution = Constitution.load()
        gate = Gate(
            store=store,
            ledger=ledger,
            registry=registry,
            sources=sources,
            constitution=constitution,
            owner=owner,
            clock=clock,
            ids=ids,
            standing=standing_of(owner),
        )
        governor = Governor(registry, gate, constitution)
        yield Bench(
            store=store,
            ledger=ledger,
            registry=registry,
            governor=governor,
            gate=gate,
            executor=Executor(store=store, gate=gate, clock=clock, worker="bench"),
            gateway=Gateway(
                store=store,
                ledger=ledger,
                governor=governor,
                owner=owner,
                clock=clock,
                ids=ids,
                limits=limits,
                metrics=metrics,
                watch=watch,
            ),
            agents=Agents(store, ledger, owner, clock, ids, limits),
            clock=clock,
            ids=ids,
            notes=notes,
        )


def register_toys(registry: Registry, notes: Notes) -> None:
    """Registers the toy acts, whose effects are kept in `notes`."""

    async def echo(arguments: Text, _consent: Consent | None) -> Mapping[str, Any]:
        return {"text": arguments.text}

    async def mirror(arguments: Anything, _consent: Consent | None) -> Mapping[str, Any]:
        return {"value": arguments.value}

    async def take_note(arguments: Text, consent: Consent | None) -> Mapping[str, Any]:
        key = (consent and consent.call_id) or arguments.text
        notes.taken.setdefault(key, arguments.text)
        return {"noted": True}

    async def call_neighbour(arguments: Text, _consent: Consent | None) -> Mapping[str, Any]:
        notes.called.append(arguments.text)
        return {"called": True}

    disclosure, execution = ActClass.DISCLOSURE, ActClass.EXECUTION
    registry.register(
        Act(name="echo", act_class=disclosure, title="Echo", description="Says it again.", arguments=Text,
            touches_others=False), echo,
    )  # fmt: skip
    registry.register(
        Act(name="mirror", act_class=disclosure, title="Mirror", description="Gives any value back.",
            arguments=Anything, touches_others=False), mirror,
    )  # fmt: skip
    registry.register(
        Act(name="take_note", act_class=execution, title="Take a note", description="Keeps a text.", arguments=Text,
            touches_others=False, repeats=Repeats.IDEMPOTENT), take_note,
    )  # fmt: skip
    registry.register(
        Act(name="call_neighbour", act_class=execution, title="Call a neighbour", description="Calls somebody.",
            arguments=Text, touches_others=True, repeats=Repeats.AT_MOST_ONCE), call_neighbour,
    )  # fmt: skip


class ToyDoor:
    """The smallest door: `POST {"act", "arguments"}` discloses or proposes, `GET` greets, `{"act": null}` notifies.

    `name` is the scope that opens it.
    """

    name = "mcp"

    def deny(self, crossing: Crossing, denial: Denial) -> Answer:
        why = denial.refusal
        body = strictjson.encode({"error": why, "number": find_code(why.code).rpc})
        return Answer(status=denial.status, body=body)

    async def answer(self, passage: Passage) -> Answer | Stream:
        crossing = passage.crossing
        if crossing.method in ("GET", "HEAD"):
            return await passage.settle(Answer(status=200, body=b'{"hello":true}'), about="hello", charges=0)
        scan_depth(crossing.body, passage.limits.envelope_levels)
        asked = strictjson.parse(crossing.body)
        if not isinstance(asked, dict) or "act" not in asked:
            raise Refused(refusal("malformed_request", place="$"))
        name = asked["act"]
        if name is None:
            return await passage.settle(Answer(status=202), about="notification", charges=0)
        if name in ("take_note", "call_neighbour"):
            prepared = passage.propose(name, asked.get("arguments"), place="$.arguments")
            body = strictjson.encode({"proposal": prepared.id})
            return await passage.settle(Answer(status=200, body=body), about=name, prepared=[prepared])
        disclosed = await passage.disclose(str(name), asked.get("arguments"), place="$.arguments")
        body = strictjson.encode(disclosed.result)
        return await passage.settle(Answer(status=200, body=body), about=str(name), disclosed=[disclosed])


@asynccontextmanager
async def serving_door(bench: Bench, door: Door, path: str = "/{rest:path}") -> AsyncIterator[str]:
    """The door on a loopback port, every path and method its own; the URL without a path."""
    app = Starlette(routes=[Route(path, endpoint=door_app(bench.gateway, door))])
    async with serving(app) as address:
        yield address.url


_last: dict[str, int] = {}


def sign(
    key: str, body: bytes = b"", method: str = "POST", target: str = "/", *, clock: Clock, v2: bool = False,
    shift_ms: int = 0,
) -> dict[str, str]:  # fmt: skip
    """The headers of one request, signed at the clock's now (moved by `shift_ms`).

    Two requests with one body get timestamps a millisecond apart, as every client has to see to: the same timestamp
    would be the same signature. Methods that are not signed get the key alone.
    """
    headers = {"X-OSz-Agent-Key": key}
    if not is_signed(method):
        return headers
    now = micros(clock.now()) // 1000 + shift_ms
    if not shift_ms:
        now = _last[key] = max(now, _last.get(key, 0) + 1)
    stamp, secret = str(now).encode(), key.encode()
    headers |= {"X-OSz-Timestamp": str(now), "X-OSz-Signature": sign_request_mac(secret, stamp, body)}
    if v2:
        headers["X-OSz-Signature-V2"] = sign_request_mac_v2(secret, method, target.encode(), stamp, body)
    return headers
