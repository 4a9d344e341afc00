"""A host's settings: what makes sense is built, the rest is refused before anything is served."""

import pytest
from msgspec.structs import replace

from sayso.core.refusal import Refused
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.config import UnitConfig, build_profile, host_name
from sayso.scheduling.host.documents import discovery_bytes, discovery_of
from sayso.scheduling.terms.discovery import Confirmation, ServiceArea, Trust, WalkIns
from sayso.scheduling.terms.discovery_checks import verify_discovery
from sayso.world.maple_street import maple_street_auto
from sayso.world.phonecheck import PHONECHECK

NOOR = "urn:schcp:principal:jwk-thumbprint:" + "A" * 43
KEY = PrivateKey.from_seed(b"k" * 32).public


def changed(**members):
    return replace(maple_street_auto(), **members)


def policies(**members):
    return changed(policies=replace(maple_street_auto().policies, **members))


def service(**members):
    return changed(services=(replace(maple_street_auto().services[0], **members),))


def person(**members):
    asking = {"access": "contacts", "confirmation": Confirmation(mode="approval", answer_within="PT2H"), **members}
    return replace(policies(**asking), kind="person", owner=NOOR)


def hours(*texts):
    return changed(
        units=(
            UnitConfig(id="bay-1", type="bay", hours={"mon": texts}),
            *maple_street_auto().units[1:],
        )
    )


CASES = {
    "an unknown zone": (changed(timezone="America/Nowhere"), "$"),
    "two services of one id": (changed(services=maple_street_auto().services[:1] * 2), "$.services"),
    "two units of one id": (changed(units=maple_street_auto().units + maple_street_auto().units[:1]), "$.units"),
    "a type nobody has": (service(needs=("bay", "lift")), "$.services[oil-change]"),
    "more of a type than there are": (service(needs=("bay",) * 3), "$.services[oil-change]"),
    "a choice without a title": (service(choose_from=("bay-1",)), "$.services[oil-change]"),
    "a choice of nobody": (service(choose_from=("kim",)), "$.services[oil-change]"),
    "a month": (service(duration="P1M"), "$"),
    "no time at all": (service(duration="PT0S"), "$.services[oil-change]"),
    "longer than a day": (service(duration="P2D"), "$.services[oil-change]"),
    "a buffer longer than a day": (service(buffer="P2D"), "$.services[oil-change]"),
    "an end and a time set aside": (service(set_aside="PT3H"), "$.services[oil-change]"),
    "a price with three digits": (
        service(price=replace(maple_street_auto().services[0].price, amount="79.000")),
        "$",
    ),
    "hours in words": (hours("eight to six"), "$.units[bay-1].hours.mon"),
    "hours that end first": (hours("18:00-08:00"), "$.units[bay-1].hours.mon"),
    "hours past midnight": (hours("18:00-25:00"), "$.units[bay-1].hours.mon"),
    "hours that overlap": (hours("08:00-12:00", "11:00-18:00"), "$.units[bay-1].hours.mon"),
    "hours out of order": (hours("13:00-18:00", "08:00-12:00"), "$.units[bay-1].hours.mon"),
    "walk-ins of a type nobody has": (
        policies(walk_ins=(WalkIns(type="lift", keep=1, days=("sat",)),)),
        "$.policies.walk_ins",
    ),
    "areas of a service at the host": (service(areas=(ServiceArea(country="CA"),)), "$.services[oil-change]"),
    "one attester twice": (changed(trust=Trust(attesters=(PHONECHECK, PHONECHECK))), "$.trust.attesters"),
    "a step of nothing": (policies(slot_step="PT0S"), "$.policies.slot_step"),
    "retention of a year": (policies(retention="P1Y"), "$"),
    "an answer within nothing": (
        policies(confirmation=Confirmation(mode="approval", answer_within="PT0S")),
        "$.policies.confirmation",
    ),
    "an answer without a deadline": (policies(confirmation=Confirmation(mode="approval")), "$.policies.confirmation"),
    "a person without a name": (changed(kind="person"), "$.kind"),
    "an owner who is an example's placeholder": (
        replace(person(), owner=NOOR.replace("A" * 43, "OWNER-GOES-HERE".ljust(43, "-"))),
        "$.owner",
    ),
    "an owner of a business": (changed(owner=NOOR), "$.owner"),
    "a person open to anyone": (person(access="anyone"), "$.policies.access"),
    "a person who confirms by themselves": (
        person(access="contacts", confirmation=Confirmation(mode="instant")),
        "$.policies.confirmation.mode",
    ),
}


@pytest.mark.req("SCH-187", "SCH-262")
def test_a_persons_calendar_is_built_and_published():
    """Its kind stands in the document, its owner only in its offers."""
    config = person()
    document = verify_discovery(discovery_bytes(config, KEY), config.domain)
    assert (document.kind, build_profile(config).owner) == ("person", NOOR)
    assert NOOR.encode() not in discovery_bytes(config, KEY)


@pytest.mark.parametrize("name", sorted(CASES))
def test_settings_that_do_not_hold_are_refused_with_their_place(name):
    """None of them is served, and none is an exception of another kind."""
    config, place = CASES[name]
    with pytest.raises(Refused) as refused:
        build_profile(config)
    assert (refused.value.refusal.code, refused.value.refusal.place) == ("config_invalid", place)


@pytest.mark.req("SCH-029", "SCH-030", "SCH-031", "SCH-032", "SCH-042", "SCH-043", "SCH-050")
def test_what_is_enforced_is_what_is_published(tmp_path):
    """The document a guest accepts names the very services, policies and taxes that the profile was built from."""
    config = maple_street_auto()
    document = verify_discovery(discovery_bytes(config, KEY), config.domain)
    assert document == discovery_of(config, KEY)
    assert (document.services, document.policies, document.taxes, document.contact) == (
        config.services,
        config.policies,
        config.taxes,
        config.contact,
    )
    assert (document.keys[0].kid, document.keys[0].use, document.host) == (KEY.thumbprint, "sign", host_name(config))


@pytest.mark.req("SCH-128")
def test_a_lunch_break_and_a_late_evening_are_hours_like_any_other():
    """Two openings a day, the second until midnight."""
    profile = build_profile(hours("08:00-12:00", "13:00-24:00"))
    assert profile.premises.units[0].week[0] == ((480, 720), (780, 1440))
    assert profile.premises.units[0].week[6] == ()


@pytest.mark.req("SCH-112", "SCH-128")
def test_a_unit_may_take_another_number_on_each_weekday():
    """One where nothing is said; the seats are as many as on the fullest day."""
    units = (UnitConfig(id="chairs", type="chair", hours={"fri": ("10:00-19:00",)}, capacity={"fri": 3, "sat": 2}),)
    services = (replace(maple_street_auto().services[0], needs=("chair",), choose_from=()),)
    profile = build_profile(changed(units=units, services=services))
    assert [seat.id for seat in profile.premises.seats["chair"]] == ["chairs/1", "chairs/2", "chairs/3"]
    assert profile.premises.units[0].seats_on == (1, 1, 1, 1, 3, 2, 1)
