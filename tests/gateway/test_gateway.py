"""Admission and settlement over a real store, on both engines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from prometheus_client import CollectorRegistry

from sayso.core.clock import ManualClock
from sayso.core.refusal import Misuse, Refusal, Refused
from sayso.gateway.crossing import Answer
from sayso.gateway.gateway import Passage
from sayso.gateway.guard import standings
from sayso.gateway.guard.metrics import PrometheusMetrics
from sayso.gateway.guard.rules.codes import refusal
from sayso.gateway.guard.rules.limits import Limits
from sayso.governance.acts import Act, ActClass, Registry
from sayso.governance.consent import Consent
from sayso.proof.hashes import sha256_b64u
from sayso.store.statements import insert, statement
from sayso.store.tables.store import buckets
from sayso.store.unit import Unit
from sayso.testing.gateway import Bench, Text, open_gateway, sign
from tests.gateway.knocks import DOOR, codes_of, crossing, knock, last, receipts, signed
from tests.gateway.wire import echo

pytestmark = pytest.mark.anyio
_MARK = statement(insert(buckets))


@pytest.fixture
async def bench(location: str, clock: ManualClock, tmp_path: Path) -> AsyncIterator[Bench]:
    async with open_gateway(tmp_path, clock=clock, location=location) as opened:
        yield opened


async def enter(bench: Bench, key: str, body: bytes | None = None) -> Passage:
    passage = await bench.gateway.enter(signed(bench, key, body), DOOR.deny)
    assert isinstance(passage, Passage)
    return passage


@pytest.mark.req("GTW-050", "GTW-010")
async def test_a_disclosure_is_answered_and_has_one_receipt_over_the_bytes(bench: Bench) -> None:
    """The hashes are over what came in and what goes out, the actor is the agent."""
    ada = await bench.issue("ada")
    request = signed(bench, ada.key)
    answer = await knock(bench, request)
    assert (answer.status, answer.body) == (200, b'{"text":"hi"}')
    (leaf,) = await bench.ledger.disclosures()
    assert (leaf.kind, leaf.actor, leaf.inputs_sha256, leaf.output_sha256) == (
        "act.done",
        ada.agent.id,
        sha256_b64u(request.body),
        sha256_b64u(answer.body),
    )
    assert (leaf.body["door"], leaf.body["about"]) == ("mcp", "echo")


@pytest.mark.req("GTW-012", "GTW-013")
async def test_a_signature_is_good_once_on_any_path(bench: Bench) -> None:
    """The same bytes on another path are the same V1, and the second use counts."""
    ada = await bench.issue("ada")
    headers = sign(ada.key, echo(), clock=bench.clock)
    assert (await knock(bench, crossing(headers, echo()))).status == 200
    again = await knock(bench, crossing(headers, echo(), target="/other"))
    assert (again.status, dict(again.headers)[b"x-osz-violations-left"]) == (403, b"4")
    assert await last(bench) == ("crossing.refused", ada.agent.id, "replayed_signature")
    # Seen a third time it is the same violation: a network that repeats a request is no attack.
    third = await knock(bench, crossing(headers, echo()))
    assert dict(third.headers)[b"x-osz-violations-left"] == b"4"


@pytest.mark.req("GTW-012")
async def test_a_refusal_of_the_body_spends_no_signature(bench: Bench) -> None:
    """Only what is answered uses a signature up; a settled denial does not either."""
    ada = await bench.issue("ada")
    passage = await enter(bench, ada.key)
    await passage.refuse(refusal("malformed_json"))
    again = await bench.gateway.enter(passage.crossing, DOOR.deny)
    assert isinstance(again, Passage)


@pytest.mark.req("GTW-012")
async def test_a_spent_signature_is_remembered_longer_than_it_could_be_used(bench: Bench, clock: ManualClock) -> None:
    """Up to its last instant it is a replay, after it it is stale; there is no instant between the two."""
    ada = await bench.issue("ada")
    request = signed(bench, ada.key)
    assert (await knock(bench, request)).status == 200
    clock.advance(timedelta(seconds=60))
    assert (await last_code(bench, request)) == "replayed_signature"
    clock.advance(timedelta(milliseconds=2))
    assert (await last_code(bench, request)) == "stale_timestamp"


async def last_code(bench: Bench, request: object) -> object:
    await knock(bench, request)  # type: ignore[arg-type]
    return (await last(bench))[2]


@pytest.mark.req("GTW-011")
@pytest.mark.parametrize(("shift_ms", "status"), [(-60_000, 200), (60_000, 200), (-60_001, 403), (60_001, 403)])
async def test_a_timestamp_is_good_for_sixty_seconds_in_both_directions(
    bench: Bench, shift_ms: int, status: int
) -> None:
    """The edge itself passes; a millisecond beyond it is stale."""
    ada = await bench.issue("ada")
    answer = await knock(bench, crossing(sign(ada.key, echo(), clock=bench.clock, shift_ms=shift_ms), echo()))
    assert answer.status == status


@pytest.mark.req("GTW-012")
@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("X-OSz-Signature-V2", "0" * 64, "bad_signature"),
        ("X-OSz-Signature-V2", "", "malformed_signature"),
        ("X-OSz-Signature-V2", "zz", "malformed_signature"),
        ("X-OSz-Signature", "0" * 64, "bad_signature"),
        ("X-OSz-Signature", "0" * 63, "malformed_signature"),
        ("X-OSz-Timestamp", "1760360400", "malformed_timestamp"),
        ("X-OSz-Timestamp", "1_760360400_0", "malformed_timestamp"),
    ],
)
async def test_a_wrong_header_is_told_by_its_code(bench: Bench, name: str, value: str, code: str) -> None:
    """V1 stays required; a V2 that does not fit refuses beside a V1 that does."""
    ada = await bench.issue("ada")
    headers = sign(ada.key, echo(), clock=bench.clock, v2=True) | {name: value}
    assert (await last_code(bench, crossing(headers, echo()))) == code


@pytest.mark.req("GTW-012")
async def test_a_second_signature_for_another_path_is_refused(bench: Bench) -> None:
    """V2 covers method and path."""
    ada = await bench.issue("ada")
    headers = sign(ada.key, echo(), "POST", "/tasks/a/result", clock=bench.clock, v2=True)
    assert (await last_code(bench, crossing(headers, echo(), target="/tasks/b/result"))) == "bad_signature"


@pytest.mark.req("GTW-013")
async def test_five_violations_suspend_every_key_until_the_owner_reissues(bench: Bench) -> None:
    """Each answer says how many are left; then every key answers 403, and a new one starts from none."""
    ada = await bench.issue("ada")
    second = await bench.agents.rotate(ada.agent.id, by="owner", keep_old=True)
    wrong = [crossing(sign(ada.key, echo(f"{number}"), clock=bench.clock), echo("other")) for number in range(5)]
    left = [dict((await knock(bench, each)).headers)[b"x-osz-violations-left"] for each in wrong]
    assert left == [b"4", b"3", b"2", b"1", b"0"]
    for key in (ada.key, second.key):
        answer = await knock(bench, signed(bench, key))
        assert (answer.status, dict(answer.headers)[b"x-osz-violations-left"]) == (403, b"0")
    assert (await bench.agents.find(ada.agent.id)).suspended_by == "gateway"
    (told,) = [each for each in await bench.ledger.records() if each.kind == "agent.suspended"]
    assert told.body == {"agent": ada.agent.id, "cause": "violations", "key": ada.key_id}
    fresh = await bench.agents.reissue(ada.agent.id, by="owner")
    bench.clock.advance(timedelta(seconds=2))  # type: ignore[attr-defined]
    assert await codes_of(bench, [signed(bench, fresh.key), signed(bench, ada.key)]) == [200, 401]
    assert (await bench.agents.find(ada.agent.id)).violations == 0


@pytest.mark.req("GTW-013")
async def test_a_repeated_violation_of_one_signature_is_one(bench: Bench, clock: ManualClock) -> None:
    """A network that sends a bad request seven times brings nobody nearer to suspension than one that sends it once."""
    ada = await bench.issue("ada")
    request = crossing(sign(ada.key, b"other", clock=clock), echo())
    for _ in range(7):
        assert dict((await knock(bench, request)).headers)[b"x-osz-violations-left"] == b"4"
        clock.advance(timedelta(seconds=1))
    # The same signature with other faults is still the same one.
    clock.advance(timedelta(minutes=2))
    assert dict((await knock(bench, request)).headers)[b"x-osz-violations-left"] == b"4"


@pytest.mark.req("GTW-013")
async def test_a_violation_counts_for_a_day(bench: Bench, clock: ManualClock) -> None:
    """Four of yesterday and four of today suspend nobody."""
    ada = await bench.issue("ada")
    for day in range(2):
        for number in range(4):
            await knock(bench, crossing(sign(ada.key, echo(f"{day} {number}"), clock=clock), echo("other")))
        clock.advance(timedelta(hours=24))
    assert (await bench.agents.find(ada.agent.id)).state == "active"


@pytest.mark.req("GTW-013")
async def test_bugs_and_rates_and_wrong_keys_count_against_nobody(bench: Bench, clock: ManualClock) -> None:
    """Malformed bodies, missing headers, 429 and a wrong key leave an agent at five."""
    ada = await bench.issue("ada")
    for body in (b"{", b"[]", b"\xff"):
        passage = await enter(bench, ada.key, body)
        with pytest.raises(Refused):
            await DOOR.answer(passage)
        await passage.refuse(refusal("malformed_json"))
    await knock(bench, crossing({"X-OSz-Agent-Key": ada.key}, echo()))
    await knock(bench, crossing(sign("osz_wrong", echo(), clock=clock), echo()))
    for _ in range(12):
        await knock(bench, signed(bench, ada.key))
    assert 429 in [each.status for each in [await knock(bench, signed(bench, ada.key))]]
    assert await bench.agents.violations() == []


@pytest.mark.req("GTW-013", "GTW-020", "GTW-020a")
async def test_a_429_spends_no_signature_charges_nothing_and_has_a_receipt(bench: Bench, clock: ManualClock) -> None:
    """The very same request passes after exactly Retry-After."""
    ada = await bench.issue("ada")
    assert await codes_of(bench, [signed(bench, ada.key) for _ in range(3)]) == [200, 200, 200]
    request = signed(bench, ada.key)
    refused = [await knock(bench, request) for _ in range(6)]
    assert [(each.status, dict(each.headers)[b"retry-after"]) for each in refused] == [(429, b"1")] * 6
    assert await last(bench) == ("crossing.refused", ada.agent.id, "too_many_requests")
    clock.advance(timedelta(seconds=1))
    assert (await knock(bench, request)).status == 200


@pytest.mark.req("GTW-013", "GTW-020a")
async def test_hammering_at_a_limit_does_not_move_it(bench: Bench, clock: ManualClock) -> None:
    """A hundred refused calls leave every bucket as three answered ones left it, the coarse one too."""
    ada = await bench.issue("ada")
    assert await codes_of(bench, [signed(bench, ada.key) for _ in range(3)]) == [200] * 3
    assert set(await codes_of(bench, [signed(bench, ada.key) for _ in range(100)])) == {429}
    # Seven of ten are left of the coarse rate.
    unsigned = [crossing({"X-OSz-Agent-Key": ada.key}, echo()) for _ in range(8)]
    assert await codes_of(bench, unsigned) == [403] * 7 + [429]


@pytest.mark.req("GTW-020")
async def test_twenty_a_minute_and_the_wait_for_the_next(bench: Bench, clock: ManualClock) -> None:
    """The sustained rate is its own limiter, and its wait is told."""
    ada = await bench.issue("ada")
    passed = 0
    while (answer := await knock(bench, signed(bench, ada.key))).status == 200:
        passed += 1
        clock.advance(timedelta(milliseconds=334))
    assert (passed, dict(answer.headers)[b"retry-after"]) == (22, b"2")
    clock.advance(timedelta(seconds=2))
    assert (await knock(bench, signed(bench, ada.key))).status == 200


@pytest.mark.req("GTW-020")
async def test_a_second_key_does_not_double_the_rate(bench: Bench) -> None:
    """Buckets are the agent's."""
    ada = await bench.issue("ada")
    second = await bench.agents.rotate(ada.agent.id, by="owner", keep_old=True)
    keys = [ada.key, second.key, ada.key, second.key]
    assert await codes_of(bench, [signed(bench, key) for key in keys]) == [200, 200, 200, 429]
    other = await bench.issue("bob")
    assert await codes_of(bench, [signed(bench, other.key)]) == [200]


@pytest.mark.req("GTW-020a")
async def test_handshakes_and_notifications_are_not_charged_to_the_burst(bench: Bench) -> None:
    """Six of them leave three calls; only the coarse rate counts them."""
    ada = await bench.issue("ada")
    notifications = [signed(bench, ada.key, echo(f"{number}", act=None)) for number in range(6)]
    assert await codes_of(bench, notifications) == [202] * 6
    assert await codes_of(bench, [signed(bench, ada.key) for _ in range(4)]) == [200, 200, 200, 429]


@pytest.mark.req("GTW-013")
async def test_the_coarse_rate_is_charged_for_refusals_too(bench: Bench) -> None:
    """Ten requests a second, whatever becomes of them."""
    ada = await bench.issue("ada")
    unsigned = [crossing({"X-OSz-Agent-Key": ada.key}, echo()) for _ in range(12)]
    assert await codes_of(bench, unsigned) == [403] * 10 + [429] * 2


@pytest.mark.req("GTW-013", "GTW-014")
async def test_wrong_keys_are_limited_by_the_address_they_come_from(bench: Bench) -> None:
    """Thirty tries, then 429; nobody else and no known key is touched by it."""
    ada = await bench.issue("ada")
    tries = [crossing({"X-OSz-Agent-Key": f"osz_{number}"}, method="GET") for number in range(31)]
    assert await codes_of(bench, tries) == [401] * 30 + [429]
    assert await last(bench) == ("crossing.refused", "stranger", "too_many_attempts")
    elsewhere = crossing({"X-OSz-Agent-Key": "osz_x"}, method="GET", peer="192.0.2.2")
    assert await codes_of(bench, [elsewhere, signed(bench, ada.key)]) == [401, 200]
    neighbours = [crossing({}, method="GET", peer=f"2001:db8::{number:x}") for number in range(31)]
    assert (await codes_of(bench, neighbours))[-1] == 429


@pytest.mark.req("GTW-014", "GTW-010")
async def test_unknown_and_revoked_keys_get_the_same_answer(bench: Bench) -> None:
    """Nobody learns which keys exist or existed."""
    ada = await bench.issue("ada")
    await bench.agents.revoke(ada.key_id, by="owner")
    gone, never = [
        await knock(bench, crossing({"X-OSz-Agent-Key": key}, method="GET")) for key in (ada.key, "osz_" + "x" * 43)
    ]
    assert gone == never
    assert gone.status == 401


@pytest.mark.req("GTW-014")
async def test_a_key_opens_only_the_doors_of_its_scopes(bench: Bench) -> None:
    """403, and it is no violation."""
    ada = await bench.issue("ada", frozenset({"a2a", "disclose"}))
    answer = await bench.gateway.enter(signed(bench, ada.key), DOOR.deny)
    assert isinstance(answer, Answer)
    assert (answer.status, dict(answer.headers)[b"x-osz-violations-left"]) == (403, b"5")
    bob = await bench.issue("bob", frozenset({"mcp", "propose"}))
    passage = await enter(bench, bob.key)
    with pytest.raises(Refused) as no:
        await passage.disclose("echo", {"text": "hi"}, place="$")
    assert (no.value.refusal.code, no.value.refusal.place) == ("missing_scope", "disclose")
    eve = await bench.issue("eve", frozenset({"mcp", "disclose"}))
    with pytest.raises(Refused) as no:
        (await enter(bench, eve.key)).propose("take_note", {"text": "hi"}, place="$")
    assert (no.value.refusal.code, no.value.refusal.place) == ("missing_scope", "propose")


@pytest.mark.req("GTW-013", "GTW-021")
async def test_a_passed_limit_under_a_good_signature_counts(bench: Bench) -> None:
    """413 says which limit, where, and how many violations are left."""
    ada = await bench.issue("ada")
    passage = await enter(bench, ada.key)
    with pytest.raises(Refused) as no:
        await passage.disclose("echo", {"text": "x" * 2001}, place="$.arguments")
    answer = await passage.refuse(no.value.refusal)
    assert (answer.status, dict(answer.headers)[b"x-osz-violations-left"]) == (413, b"4")
    assert no.value.refusal.place == "$.arguments.text"


@pytest.mark.req("GTW-013")
async def test_an_unsigned_request_never_counts(bench: Bench) -> None:
    """A GET proves no more than that somebody has the key's text."""
    ada = await bench.issue("ada")
    request = crossing({"X-OSz-Agent-Key": ada.key}, method="GET")
    passage = await bench.gateway.enter(request, DOOR.deny)
    assert isinstance(passage, Passage)
    answer = await passage.refuse(refusal("payload_limits"))
    assert dict(answer.headers)[b"x-osz-violations-left"] == b"5"


@pytest.mark.req("GTW-010", "GTW-053")
async def test_what_was_revoked_or_suspended_meanwhile_is_refused_when_it_settles(bench: Bench) -> None:
    """The last judgement is in the unit that answers; nothing of the request is done."""
    ada, bob = await bench.issue("ada"), await bench.issue("bob")
    first, second = await enter(bench, ada.key), await enter(bench, bob.key)
    await bench.agents.revoke(ada.agent.id, by="owner")
    await bench.agents.suspend(bob.agent.id, by="owner", reason="lunch")
    effects: list[Unit] = []
    ok = Answer(status=200)
    answers = [await each.settle(ok, about="echo", effect=effects.append) for each in (first, second)]
    assert ([each.status for each in answers], effects) == ([401, 403], [])


@pytest.mark.req("GTW-012")
async def test_of_two_passages_with_one_signature_one_settles(bench: Bench) -> None:
    """Both were let in before either was settled; the second has no effect and is a replay."""
    ada = await bench.issue("ada")
    request = signed(bench, ada.key)
    passages = [await bench.gateway.enter(request, DOOR.deny) for _ in range(2)]
    effects: list[Unit] = []
    statuses = []
    for passage in passages:
        assert isinstance(passage, Passage)
        statuses.append((await passage.settle(Answer(status=200), about="x", effect=effects.append)).status)
    assert (statuses, len(effects)) == ([200, 403], 1)


@pytest.mark.req("GTW-020", "GTW-020a")
async def test_the_rate_is_judged_when_it_settles(bench: Bench) -> None:
    """Five let in at once: three are answered, two are told to wait, and their work is not done."""
    ada = await bench.issue("ada")
    passages = [await enter(bench, ada.key) for _ in range(5)]
    effects: list[Unit] = []
    answers = [await each.settle(Answer(status=200), about="x", effect=effects.append) for each in passages]
    assert ([each.status for each in answers], len(effects)) == ([200] * 3 + [429] * 2, 3)


@pytest.mark.req("GTW-020")
async def test_a_batch_is_charged_for_each_of_its_calls(bench: Bench) -> None:
    """Two and then one is a burst; a batch larger than a burst could never pass and is refused as such."""
    ada = await bench.issue("ada")
    charges = [2, 2, 1]
    passages = [await enter(bench, ada.key) for _ in charges]
    answers = [
        (await each.settle(Answer(status=200), about="x", charges=count)).status
        for each, count in zip(passages, charges, strict=True)
    ]
    assert answers == [200, 429, 200]
    with pytest.raises(Refused, match="burst"):
        await (await enter(bench, ada.key)).settle(Answer(status=200), about="x", charges=4)


@pytest.mark.req("GTW-053", "GTW-050")
async def test_an_effect_that_refuses_undoes_the_unit_and_the_refusal_is_what_is_receipted(bench: Bench) -> None:
    """Nothing half applied: no charge, no spent signature, no receipt of an answer."""
    ada = await bench.issue("ada")
    passage = await enter(bench, ada.key)

    def effect(unit: Unit) -> None:
        unit.execute(_MARK, {"key": "mark", "tat": 2**60})
        raise Refused(refusal("unknown_entity"))

    with pytest.raises(Refused):
        await passage.settle(Answer(status=200), about="x", effect=effect)
    answer = await passage.refuse(refusal("unknown_entity"))
    assert answer.status == 404
    assert await receipts(bench) == [("crossing.refused", ada.agent.id, "unknown_entity")]
    assert await codes_of(bench, [signed(bench, ada.key) for _ in range(3)]) == [200] * 3


@pytest.mark.req("GTW-030", "GTW-050")
async def test_a_proposal_is_filed_in_the_unit_that_answers(bench: Bench) -> None:
    """The crossing's receipt names it; a request that is refused when it settles files nothing."""
    ada = await bench.issue("ada")
    answer = await knock(bench, signed(bench, ada.key, echo("milk", "take_note")))
    (proposal,) = await bench.gate.list()
    assert (answer.status, proposal.agent, proposal.act, proposal.door) == (200, ada.agent.id, "take_note", "mcp")
    leaf = (await bench.ledger.disclosures())[-1]
    assert (leaf.kind, leaf.body["proposals"]) == ("crossing.answered", [proposal.id])
    assert bench.notes.taken == {}
    late = await enter(bench, ada.key, echo("more", "take_note"))
    await bench.agents.revoke(ada.agent.id, by="owner")
    prepared = late.propose("take_note", {"text": "more"}, place="$")
    assert (await late.settle(Answer(status=200), about="x", prepared=[prepared])).status == 401
    assert len(await bench.gate.list()) == 1


@pytest.mark.req("GTW-053", "GTW-050")
async def test_every_end_of_a_crossing_is_one_unit(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disclosure, a proposal, a denial and a stranger's try cost one commit each, whatever is written in it."""
    ada = await bench.issue("ada")
    units: list[object] = []
    unit = bench.store.unit

    def counted(body: Callable[[Unit], Any]) -> Awaitable[Any]:
        units.append(body)
        return unit(body)

    monkeypatch.setattr(bench.store, "unit", counted)
    requests = [
        signed(bench, ada.key),
        signed(bench, ada.key, echo("milk", "take_note")),
        crossing(sign(ada.key, b"other", clock=bench.clock), echo()),
        crossing({"X-OSz-Agent-Key": "osz_no"}, method="GET"),
    ]
    assert await codes_of(bench, requests) == [200, 200, 403, 401]
    assert len(units) == len(requests)


@pytest.mark.req("GTW-012")
async def test_an_answer_that_took_too_long_is_not_given(bench: Bench, clock: ManualClock) -> None:
    """Past the time that its signature is remembered it could have a second effect."""
    ada = await bench.issue("ada")
    passage = await enter(bench, ada.key)
    clock.advance(timedelta(seconds=121))
    effects: list[Unit] = []
    answer = await passage.settle(Answer(status=200), about="x", effect=effects.append)
    assert (answer.status, effects) == (503, [])


async def test_a_passage_ends_once(bench: Bench) -> None:
    """A door that settles twice is a bug."""
    ada = await bench.issue("ada")
    passage = await enter(bench, ada.key)
    await passage.settle(Answer(status=200), about="x")
    with pytest.raises(Misuse):
        await passage.settle(Answer(status=200), about="x")
    with pytest.raises(Misuse):
        await passage.refuse(refusal("internal_error"))


async def test_spent_signatures_are_forgotten_when_they_can_do_nothing(bench: Bench, clock: ManualClock) -> None:
    """The table does not grow with what was ever sent."""
    ada = await bench.issue("ada")
    for number in range(3):
        assert (await knock(bench, signed(bench, ada.key, echo(f"{number}")))).status == 200

    def prune(unit: Unit) -> int:
        return standings.prune(unit, bench.gateway.owner, ada.agent.id, bench.gateway.limits)

    clock.advance(timedelta(seconds=180))
    assert await bench.store.unit(prune) == 0
    clock.advance(timedelta(seconds=1))
    assert await bench.store.unit(prune) == 3


async def test_steps_and_metrics_are_told_to_whoever_asks(tmp_path: Path, clock: ManualClock) -> None:
    """Each step of a governed call once, and each crossing by door, outcome and code."""
    steps: list[str] = []
    registry = CollectorRegistry()
    metrics = PrometheusMetrics(registry)
    async with open_gateway(tmp_path, clock=clock, watch=lambda step, _: steps.append(step), metrics=metrics) as bench:
        ada = await bench.issue("ada")
        request = signed(bench, ada.key)
        await knock(bench, request)
        assert steps == [
            "read", "key", "suspended", "coarse", "timestamp", "signature", "replay", "scope", "act",
            "again", "rate", "spend", "file", "receipt", "settle",
        ]  # fmt: skip
        await knock(bench, request)
        passage = await enter(bench, ada.key)
        await passage.refuse(refusal("internal_error"))
        passage = await enter(bench, ada.key)
        await passage.refuse(Refusal(code="shop_closed", message="no"))

    def count(outcome: str, code: str) -> float | None:
        return registry.get_sample_value("sayso_crossings_total", {"door": "mcp", "outcome": outcome, "code": code})

    assert count("answered", "") == 1
    assert count("refused", "replayed_signature") == 1
    assert count("failed", "internal_error") == 1
    assert count("refused", "other") == 1


async def test_limits_are_settings(tmp_path: Path, clock: ManualClock) -> None:
    """A gateway with other limits refuses by them."""
    async with open_gateway(tmp_path, clock=clock, limits=Limits(violations=1)) as bench:
        ada = await bench.issue("ada")
        await knock(bench, crossing(sign(ada.key, b"x", clock=clock), echo()))
        assert (await bench.agents.find(ada.agent.id)).state == "suspended"


@pytest.mark.req("GTW-013", "GTW-020")
async def test_at_its_limit_no_act_is_run_for_an_agent(tmp_path: Path, clock: ManualClock) -> None:
    """A 429 charges nothing, so an act that ran before it would be had for nothing, as often as it is asked for."""
    ran: list[str] = []
    async with open_gateway(tmp_path, clock=clock, register=lambda registry: register_counted(registry, ran)) as bench:
        ada = await bench.issue("ada")
        requests = [signed(bench, ada.key, echo(act="counted")) for _ in range(9)]
        answers = [await knock(bench, each) for each in requests]
        assert [each.status for each in answers] == [200] * 3 + [429] * 6
        assert {dict(each.headers).get(b"retry-after") for each in answers[3:]} == {b"1"}
        assert len(ran) == 3
        clock.advance(timedelta(seconds=1))
        assert (await knock(bench, requests[-1])).status == 200


@pytest.mark.req("GTW-020")
async def test_a_batch_past_a_burst_runs_no_more_than_a_burst(tmp_path: Path, clock: ManualClock) -> None:
    """The fourth act of one request is refused before it runs; the request could never be answered."""
    ran: list[str] = []
    async with open_gateway(tmp_path, clock=clock, register=lambda registry: register_counted(registry, ran)) as bench:
        ada = await bench.issue("ada")
        passage = await enter(bench, ada.key)
        for number in range(3):
            await passage.disclose("counted", {"text": str(number)}, place="$")
        with pytest.raises(Refused) as no:
            await passage.disclose("counted", {"text": "3"}, place="$")
        assert (no.value.refusal.code, ran) == ("too_many_calls", ["0", "1", "2"])


@pytest.mark.req("GTW-020")
async def test_of_what_comes_at_once_no_more_runs_than_a_minute_allows(tmp_path: Path, clock: ManualClock) -> None:
    """Sixty let in on one snapshot, before any was charged: twenty acts run at a time, the rest are told so."""
    hold, ran = anyio.Event(), []

    def register(registry: Registry) -> None:
        register_counted(registry, ran, hold.wait)

    async with open_gateway(tmp_path, clock=clock, register=register) as bench:
        ada, bob = await bench.issue("ada"), await bench.issue("bob")
        passages = [await enter(bench, ada.key) for _ in range(60)]
        refused: list[str] = []

        async def disclose(passage: Passage) -> None:
            try:
                await passage.disclose("counted", {"text": "x"}, place="$")
            except Refused as no:
                refused.append(no.refusal.code)

        async with anyio.create_task_group() as group:
            for passage in passages:
                group.start_soon(disclose, passage)
            await anyio.wait_all_tasks_blocked()
            assert (len(ran), refused) == (20, ["unavailable"] * 40)
            group.start_soon(disclose, await enter(bench, bob.key))
            await anyio.wait_all_tasks_blocked()
            assert len(ran) == 21
            hold.set()
        await disclose(await enter(bench, ada.key))
        assert (len(ran), len(refused)) == (22, 40)


def register_counted(registry: Registry, ran: list[str], wait: Callable[[], Awaitable[object]] | None = None) -> None:
    """A disclosure that notes each of its runs, and ends when it may."""

    async def counted(arguments: Text, _consent: Consent | None) -> Mapping[str, Any]:
        ran.append(arguments.text)
        if wait is not None:
            await wait()
        return {"text": arguments.text}

    registry.register(
        Act(name="counted", act_class=ActClass.DISCLOSURE, title="Counted", description="Is counted.", arguments=Text,
            touches_others=False), counted,
    )  # fmt: skip
