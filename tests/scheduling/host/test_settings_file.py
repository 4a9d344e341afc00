"""A host's TOML file: what it leaves out has defaults, and a mistake is named by line and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.core.refusal import Refused
from sayso.scheduling.host.settings_file import read_host_settings
from sayso.scheduling.terms.reconfirm import ReconfirmPolicy

EXAMPLES = Path(__file__).resolve().parents[3] / "docs" / "examples"
SHOP = (EXAMPLES / "shop.toml").read_text()
UNNAMED = (EXAMPLES / "calendar.toml").read_text()
PLACEHOLDER = "OWNER-GOES-HERE----------------------------"
CALENDAR = UNNAMED.replace(PLACEHOLDER, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")


def test_what_a_file_leaves_out_takes_a_default():
    """Instant, for anyone, ten-minute holds, records for a year."""
    config = read_host_settings(SHOP, "shop.toml")
    policies = config.policies
    assert (config.id, policies.confirmation.mode, policies.access) == ("shop", "instant", "anyone")
    assert (policies.holds.ttl_max, policies.retention, policies.slot_step) == ("PT10M", "P365D", "PT15M")


@pytest.mark.req("SCH-031", "SCH-153")
def test_a_policy_that_is_stated_leaves_the_others_at_their_defaults():
    """One cap changed in a table of its own, the rest as they were."""
    holds = "[policies.holds]\nmax_active_per_agent = 5\n"
    confirmation = '[policies.confirmation]\nmode = "approval"\nanswer_within = "PT2H"\n'
    policies = read_host_settings(f"{SHOP}\n{holds}\n{confirmation}", "shop.toml").policies
    assert (policies.holds.max_active_per_agent, policies.holds.max_active_unproven) == (5, 6)
    assert (policies.confirmation.mode, policies.confirmation.answer_within) == ("approval", "PT2H")


RECONFIRM = '[policies.reconfirm]\nopens = "{}"\ndue = "P1D"\nsilence = "{}"\n\n[contact]'
ASKED = "shop.toml, line 11: policies.reconfirm", "shop.toml, line 13: policies.reconfirm"
MISTAKES = {
    "a reminder in months": ("[contact]", RECONFIRM.format("P1M", "lapses"), f"{ASKED[0]}.opens"),
    "a silence nobody knows": ("[contact]", RECONFIRM.format("P2D", "fines"), f"{ASKED[1]}.silence"),
    "due before it opens": ("[contact]", RECONFIRM.format("PT12H", "lapses"), "shop.toml, line 10: policies.reconfirm"),
    "a month": ('"PT30M"', '"P1M"', "shop.toml, line 16: services[0].duration"),
    "a zone nobody knows": ("America/Toronto", "Toronto", "shop.toml, line 8: timezone"),
    "a misspelt key": ("buffer =", "bufer =", "shop.toml, line 17: services[0].bufer"),
    "three digits": ('"40.00"', '"40.000"', "shop.toml, line 19: services[0].price"),
    "hours in words": ('thu = ["09:00-17:00"]', 'thu = ["9 to 5"]', "shop.toml, line 35: units[0].hours.thu"),
    "a type nobody has": ('type = "bench"', 'type = "stool"', "shop.toml, line 13: services[0]"),
    "no domain": ('"shop.example"', '"shop"', "shop.toml, line 6: domain"),
    "a number for a name": ('title = "The Shoe Shop"', "title = 5", "shop.toml, line 7: title"),
    "a payment": ("[contact]", "deposit = 5\n\n[contact]", "shop.toml, line 10: deposit"),
    "no service": ('needs = ["bench"]\nprice', "price", "shop.toml, line 13: services[0]"),
    "no way to be reached": ('phone = "+1 416 555 0199"', "", "shop.toml, line 10: contact"),
    "an operator": ('id = "shop"', 'operator = "chairly.example"\nid = "shop"', "shop.toml, line 5: operator"),
}


@pytest.mark.req("SCH-248", "SCH-032")
def test_a_host_says_in_its_file_when_it_asks_again_and_what_silence_does():
    """Two lengths of time before the start, and one word."""
    text = SHOP.replace("[contact]", RECONFIRM.format("P2D", "stands"))
    policy = read_host_settings(text, "shop.toml").policies.reconfirm
    assert policy == ReconfirmPolicy(opens="P2D", due="P1D", silence="stands")


PERSONS_MISTAKES = {
    "no owner": ("owner =", "# owner =", "calendar.toml, line 9: kind"),
    "open to anyone": ('access = "contacts"', 'access = "anyone"', "calendar.toml, line 19: policies.access"),
    "open by default": ('access = "contacts"', "", "calendar.toml, line 18: policies.access"),
    "confirming by itself": (
        'mode = "approval"\nanswer_within = "PT2H"',
        'mode = "instant"',
        "calendar.toml, line 22: policies.confirmation.mode",
    ),
    "a business with an owner": ('kind = "person"', 'kind = "business"', "calendar.toml, line 11: owner"),
    "an owner that is nobody": ("urn:schcp:principal", "urn:schcp:person", "calendar.toml, line 11: owner"),
}  # fmt: skip


@pytest.mark.req("SCH-187", "SCH-262")
def test_a_persons_calendar_is_one_file_too():
    """Kind, owner, contacts only, every request answered."""
    config = read_host_settings(CALENDAR, "calendar.toml")
    policies = config.policies
    assert (config.kind, policies.access, policies.confirmation.mode) == ("person", "contacts", "approval")


@pytest.mark.req("SCH-262")
def test_the_example_is_nobodys_until_its_owner_is_named():
    """A calendar that no key could ever answer for is not made."""
    assert PLACEHOLDER in UNNAMED
    with pytest.raises(Refused) as refused:
        read_host_settings(UNNAMED, "calendar.toml")
    assert (refused.value.refusal.code, refused.value.refusal.place) == (
        "config_invalid",
        "calendar.toml, line 11: owner",
    )


@pytest.mark.parametrize("name", sorted(PERSONS_MISTAKES))
def test_a_persons_calendar_that_would_not_ask_its_person_is_named_by_line_and_key(name):
    """Nothing of it is served."""
    old, new, place = PERSONS_MISTAKES[name]
    assert old in CALENDAR
    with pytest.raises(Refused) as refused:
        read_host_settings(CALENDAR.replace(old, new, 1), "calendar.toml")
    assert (refused.value.refusal.code, refused.value.refusal.place) == ("config_invalid", place)


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_a_mistake_is_named_by_line_and_key(name):
    """Before anything is made or served."""
    old, new, place = MISTAKES[name]
    assert old in SHOP
    with pytest.raises(Refused) as refused:
        read_host_settings(SHOP.replace(old, new, 1), "shop.toml")
    assert (refused.value.refusal.code, refused.value.refusal.place) == ("config_invalid", place)


def test_a_file_that_is_no_toml_is_told_with_its_line():
    """The parser's own words, and the file."""
    with pytest.raises(Refused) as refused:
        read_host_settings(SHOP.replace("[contact]", "[contact"), "shop.toml")
    assert ("line 10" in refused.value.refusal.message, refused.value.refusal.place) == (True, "shop.toml")
