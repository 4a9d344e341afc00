"""What an owner does with agents and keys, on both engines."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from sayso.core.clock import ManualClock
from sayso.core.refusal import Refused
from sayso.gateway.guard.agents import Agents, ViolationRow, standing_of
from sayso.store.statements import statement
from sayso.store.tables.gateway import gateway_agents, gateway_keys
from sayso.testing.gateway import Bench, open_gateway, sign
from sayso.testing.store import START
from tests.gateway.knocks import codes_of, crossing, knock, signed
from tests.gateway.wire import echo

pytestmark = pytest.mark.anyio


@pytest.fixture
async def bench(location: str, clock: ManualClock, tmp_path: Path) -> AsyncIterator[Bench]:
    async with open_gateway(tmp_path, clock=clock, location=location) as opened:
        yield opened


@pytest.mark.req("GTW-010")
async def test_a_key_is_shown_once_and_kept_as_its_hash(bench: Bench) -> None:
    """256 bits behind a prefix; what is stored finds it and does not give it back."""
    issued = await bench.issue("ada")
    assert re.fullmatch(r"osz_[A-Za-z0-9_-]{43}", issued.key)
    rows = await bench.store.reading(
        lambda view: view.all(statement(gateway_keys.select())) + view.all(statement(gateway_agents.select()))
    )
    flat = [bytes(each) if isinstance(each, memoryview) else each for row in rows for each in row]
    assert hashlib.sha256(issued.key.encode()).digest() in flat
    assert issued.key not in [each for each in flat if isinstance(each, str)]
    assert issued.key.encode() not in b"".join(record.data for record in await bench.ledger.records())


@pytest.mark.req("GTW-010")
async def test_rotating_revokes_the_old_key_unless_it_is_kept(bench: Bench, clock: ManualClock) -> None:
    """An agent may have two for a while."""
    first = await bench.issue("ada")
    clock.advance(timedelta(seconds=1))
    second = await bench.agents.rotate(first.agent.id, by="owner", keep_old=True)
    assert await codes_of(bench, [signed(bench, key) for key in (first.key, second.key)]) == [200, 200]
    clock.advance(timedelta(seconds=1))
    third = await bench.agents.rotate(first.agent.id, by="owner")
    assert await codes_of(bench, [signed(bench, each.key) for each in (first, second, third)]) == [401, 401, 200]
    (row,) = await bench.agents.list()
    assert [key.revoked_by for key in row.keys] == ["owner", "owner", None]


@pytest.mark.req("GTW-010")
async def test_a_key_is_revoked_by_its_id_and_all_by_the_agents(bench: Bench) -> None:
    """How many worked is told; an id that is neither is refused."""
    first = await bench.issue("ada")
    second = await bench.agents.rotate(first.agent.id, by="owner", keep_old=True)
    assert await bench.agents.revoke(first.key_id, by="owner") == 1
    assert await bench.agents.revoke(first.key_id, by="owner") == 0
    assert await codes_of(bench, [signed(bench, each.key) for each in (first, second)]) == [401, 200]
    assert await bench.agents.revoke(first.agent.id, by="owner") == 1
    assert await codes_of(bench, [signed(bench, second.key)]) == [401]
    with pytest.raises(Refused, match="neither"):
        await bench.agents.revoke("key_none", by="owner")


@pytest.mark.req("GTW-013")
async def test_only_a_reissue_ends_a_suspension(bench: Bench) -> None:
    """Rotating is refused; the suspended key never works again."""
    ada = await bench.issue("ada")
    assert await bench.agents.suspend(ada.agent.id, by="owner", reason="lunch")
    assert not await bench.agents.suspend(ada.agent.id, by="owner", reason="again")
    with pytest.raises(Refused, match="suspended"):
        await bench.agents.rotate(ada.agent.id, by="owner")
    fresh = await bench.agents.reissue(ada.agent.id, by="owner")
    assert await codes_of(bench, [signed(bench, each.key) for each in (ada, fresh)]) == [401, 200]
    row = await bench.agents.find(ada.agent.id)
    assert (row.state, row.suspended_by, row.suspended_for) == ("active", None, None)


@pytest.mark.req("GTW-050")
async def test_every_act_of_the_owner_has_its_receipt(bench: Bench) -> None:
    """Chained one by one, under the name of who did it, with ids and never a key."""
    ada = await bench.issue("ada")
    await bench.agents.rotate(ada.agent.id, by="eve")
    await bench.agents.suspend(ada.agent.id, by="eve", reason="lunch")
    await bench.agents.reissue(ada.agent.id, by="eve")
    await bench.agents.revoke(ada.agent.id, by="eve")
    told = [(record.kind, record.actor) for record in await bench.ledger.records()]
    assert told == [
        ("agent.issued", "ada"),
        ("agent.key_issued", "eve"),
        ("agent.suspended", "eve"),
        ("agent.reissued", "eve"),
        ("agent.keys_revoked", "eve"),
    ]


@pytest.mark.parametrize(
    ("name", "scopes"), [("", {"mcp"}), ("a" * 65, {"mcp"}), ("a\n", {"mcp"}), ("ada", set()), ("ada", {"root"})]
)
async def test_an_agent_has_a_plain_name_and_known_scopes(bench: Bench, name: str, scopes: set[str]) -> None:
    """No scope at all would be a key that opens nothing."""
    with pytest.raises(Refused) as no:
        await bench.agents.issue(name, by="owner", scopes=frozenset(scopes))
    assert no.value.refusal.code == "malformed_agent"
    assert await bench.agents.list() == []


async def test_a_name_is_one_agents(bench: Bench) -> None:
    """Two under one name could not be told apart in a list; nothing is written of the second."""
    await bench.issue("ada")
    with pytest.raises(Refused) as no:
        await bench.issue("ada")
    assert no.value.refusal.code == "agent_exists"
    assert len(await bench.ledger.records()) == 1


@pytest.mark.parametrize("act", ["rotate", "reissue", "suspend", "find"])
async def test_an_unknown_agent_is_refused(bench: Bench, act: str) -> None:
    """Whatever was to be done with it."""
    more = {"suspend": {"by": "owner", "reason": "x"}, "find": {}}.get(act, {"by": "owner"})
    with pytest.raises(Refused) as no:
        await getattr(bench.agents, act)("agent_none", **more)
    assert no.value.refusal.code == "unknown_agent"


async def test_agents_are_their_owners_alone(bench: Bench) -> None:
    """Another owner in the same database sees none of them, and a key of theirs is unknown at these doors."""
    others = Agents(bench.store, bench.ledger, "bob", bench.clock, bench.ids)
    ada, theirs = await bench.issue("ada"), await others.issue("ada", by="bob")
    assert [row.agent.id for row in await others.list()] == [theirs.agent.id]
    assert await codes_of(bench, [signed(bench, theirs.key), signed(bench, ada.key)]) == [401, 200]
    with pytest.raises(Refused):
        await others.revoke(ada.key_id, by="bob")


@pytest.mark.req("GTW-013")
async def test_violations_are_listed_the_newest_first(bench: Bench, clock: ManualClock) -> None:
    """With code, door and instant; how many count is told beside the agent."""
    ada, bob = await bench.issue("ada"), await bench.issue("bob")
    for key in (ada.key, ada.key, bob.key):
        await knock(bench, crossing(sign(key, b"other", clock=clock), echo()))
        clock.advance(timedelta(seconds=1))
    rows = await bench.agents.violations()
    assert [row.agent_id for row in rows] == [bob.agent.id, ada.agent.id, ada.agent.id]
    assert await bench.agents.violations(ada.agent.id, limit=1) == [
        ViolationRow(agent_id=ada.agent.id, code="bad_signature", door="mcp", at=START + timedelta(seconds=1))
    ]
    assert [row.violations for row in await bench.agents.list()] == [2, 1]
    clock.advance(timedelta(hours=24))
    assert [row.violations for row in await bench.agents.list()] == [0, 0]


async def test_governance_can_ask_how_an_agent_stands(bench: Bench) -> None:
    """Active, suspended, or none of ours."""
    ada = await bench.issue("ada")
    look = standing_of(bench.gateway.owner)

    async def stands(agent_id: str) -> str | None:
        return await bench.store.reading(lambda view: look(view, agent_id))

    assert [await stands(ada.agent.id), await stands("agent_none")] == ["active", None]
    await bench.agents.suspend(ada.agent.id, by="owner", reason="lunch")
    assert await stands(ada.agent.id) == "suspended"
