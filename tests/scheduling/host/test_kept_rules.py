"""The rules that a calendar keeps, when there are many of them, and when two have one id. Over real sockets."""

from datetime import timedelta

import pytest

from sayso.core.instants import epoch
from sayso.scheduling.host import signed_rules
from sayso.scheduling.terms.rule_checks import verify_rule
from tests.scheduling.host.daybook import ask, at_desk, friend, keep, open_calendar, signed_rule, withdraw, yes_by_rule
from tests.scheduling.host.town import HOST, read, reason

pytestmark = pytest.mark.anyio

MOST = 100


async def kept_directly(town, rules):
    """As if handed in one by one."""
    await town.store.unit(lambda unit: [signed_rules.add(unit, HOST, verify_rule(rule)) for rule in rules])


async def listed(town):
    client = at_desk(town).client
    answer = await client.send("GET", "https://maplestreetauto.example/schcp/v0/host/rules", b"")
    return [each["rule"] for each in read(answer, 200)["rules"]]


@pytest.mark.req("SCH-264", "SCH-267")
async def test_a_new_rule_answers_however_many_have_ended(store, clock):
    """A rule for each weekend, over and never withdrawn, leaves no less room for the next."""
    async with open_calendar(store, clock) as noor:
        ended = epoch(clock.now()) + 60
        await kept_directly(noor, [signed_rule(clock, exp=ended) for _ in range(MOST)])
        clock.advance(timedelta(minutes=2))
        read(await keep(noor, signed_rule(clock)), 201)
        settled, _, _ = await ask(await friend(noor))
        assert (settled["booking"]["status"], settled["booking"]["answered"]["by"]) == ("confirmed", "rule")


@pytest.mark.req("SCH-267")
async def test_a_rule_that_stands_is_listed_before_any_that_was_withdrawn(store, clock):
    """Whoever looks for what to withdraw finds it, whatever was withdrawn since it was kept."""
    async with open_calendar(store, clock) as noor:
        standing = signed_rule(clock)
        read(await keep(noor, standing), 201)
        clock.advance(timedelta(minutes=1))
        later = [signed_rule(clock) for _ in range(MOST)]
        await kept_directly(noor, later)
        await noor.store.unit(
            lambda unit: [signed_rules.withdraw(unit, HOST, verify_rule(rule).claims.jti) for rule in later]
        )
        assert (await listed(noor))[0] == standing


@pytest.mark.req("SCH-264", "SCH-267")
async def test_only_the_kept_rule_answers_and_not_another_of_its_id(store, clock):
    """The id is the signer's to pick: a wider rule under the id of the kept one is one that nobody keeps."""
    async with open_calendar(store, clock, keeper=None) as noor:
        kept = signed_rule(clock, jti="a_weekends")
        wider = signed_rule(clock, jti="a_weekends", weekdays=None)
        read(await keep(noor, kept), 201)
        settled, hold, _ = await ask(await friend(noor))
        booking_id, desk = settled["booking"]["booking_id"], at_desk(noor)
        other = await desk.act("approve", booking_id, acceptance=yes_by_rule(clock, hold["offer"], wider))
        assert reason(other, 403) == "rule_not_in_force"
        done = await desk.act("approve", booking_id, acceptance=yes_by_rule(clock, hold["offer"], kept))
        assert read(done, 200)["booking"]["status"] == "confirmed"
        assert read(await withdraw(noor, "a_weekends"), 200)["rule"] == kept
