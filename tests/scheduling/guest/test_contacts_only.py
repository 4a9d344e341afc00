"""An assistant at a calendar that is open to contacts alone: what the person signs introduces it."""

from __future__ import annotations

import pytest

from sayso.scheduling.host.contacts import add_contact
from sayso.scheduling.terms.identity import principal_urn
from tests.scheduling.host.town import HOST, one_bay, open_town_on_file
from tests.scheduling.tools.household import HOLD, SAM, open_household

pytestmark = pytest.mark.anyio

RANGE = {
    "host": HOST,
    "service_id": "oil-change",
    "earliest_start": "2026-10-15T11:00",
    "latest_start": "2026-10-15T15:00",
}


@pytest.fixture
async def scene(tmp_path, clock):
    async with (
        open_town_on_file(tmp_path, clock, one_bay(access="contacts")) as shop,
        open_household(tmp_path / "guest", clock, shop.fetcher) as home,
    ):
        yield shop, home


@pytest.mark.req("SCH-040")
async def test_an_assistant_looks_only_once_the_person_has_signed_something(scene):
    """Before, it is told how; the limits it then signs let it hold, and look again."""
    shop, home = scene
    await shop.store.unit(lambda unit: add_contact(unit, HOST, principal_urn(SAM.public), "Sam"))
    before = await home.call("find_slots", RANGE)
    assert before.result["refused"]["reason"] == "not_introduced"
    await home.held()
    assert [question.kind for question, _ in home.questions] == ["limits"]
    after = await home.call("find_slots", RANGE)
    assert (after.is_error, after.result["free"] > 0) == (False, True)


@pytest.mark.req("SCH-039")
async def test_the_person_hears_that_the_calendar_is_open_to_contacts_only(scene):
    """And how to reach the host without an assistant."""
    _shop, home = scene
    done = await home.call("hold_slot", HOLD)
    assert done.is_error
    assert done.result["refused"]["reason"] == "not_a_contact"
    assert done.result["refused"]["details"]["contact"]["phone"] == "+1 416 555 0134"
