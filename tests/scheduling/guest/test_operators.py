"""Hosts found through an operator: both documents are read and compared before anything is sent to an endpoint."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sayso.core import strictjson
from sayso.core.refusal import PeerUnreachable, Refused
from sayso.scheduling.guest.discovery import HostDocuments, read_address
from sayso.scheduling.guest.kept import KnownHost
from sayso.testing.store import fresh_store
from tests.scheduling.guest.hostile import body, edited, status
from tests.scheduling.host.plaza import (
    DENTIST,
    DENTIST_BASE,
    DENTIST_DOCUMENT,
    DENTIST_SITE,
    LIST,
    OPERATOR,
    SHOP,
    SHOP_BASE,
    SHOP_DOCUMENT,
    open_plaza,
)
from tests.scheduling.tools.household import household

pytestmark = pytest.mark.anyio

CLEANING = {
    "host": DENTIST,
    "service_id": "dental-cleaning",
    "start": "2026-10-15T13:00",
    "earliest_start": "2026-10-15T13:00",
    "latest_start": "2026-10-15T15:00",
    "max_price": {"amount": "200"},
}


@pytest.fixture
async def plaza(tmp_path, clock):
    async with open_plaza(tmp_path / "operator", clock) as opened:
        yield opened


@pytest.fixture
async def home(tmp_path, clock, plaza):
    with fresh_store(tmp_path, clock, name="guest.db") as store:
        opened = household(store, clock, plaza.wire)
        await opened.guest.add_host(f"https://{DENTIST_SITE}")
        await opened.guest.add_host(f"https://{OPERATOR}/hosts/corner-garage")
        yield opened


@pytest.mark.req("SCH-035", "SCH-044", "SCH-047")
async def test_both_kinds_of_host_are_found_through_their_operator(plaza, clock):
    """The shop by its name alone, the practice by its own domain."""
    documents = HostDocuments(plaza.wire, clock)
    shop, dentist = await documents.document(SHOP), await documents.document(DENTIST_SITE)
    assert (shop.host, shop.endpoint) == (SHOP, SHOP_BASE)
    assert (dentist.host, dentist.endpoint) == (DENTIST, DENTIST_BASE)


@pytest.mark.req("SCH-049")
async def test_a_list_serves_ten_minutes_for_all_its_hosts_and_no_document_outlives_it(plaza, clock):
    """One fetch for both; a document that rests on a list of nine minutes is kept for one more."""
    documents = HostDocuments(plaza.wire, clock)
    await documents.document(SHOP)
    clock.advance(timedelta(minutes=9))
    await documents.document(DENTIST)
    assert plaza.wire.count(LIST) == 1
    clock.advance(timedelta(minutes=1))
    plaza.wire.rules[LIST] = edited(lambda found: found.update(hosts=[]))
    for host in (SHOP, DENTIST):
        with pytest.raises(Refused) as caught:
            await documents.document(host)
        assert caught.value.refusal.reason == "host_not_authorised"


@pytest.mark.req("SCH-036")
@pytest.mark.parametrize("host", [SHOP, DENTIST])
@pytest.mark.parametrize(
    ("where", "rule", "error", "reason"),
    [
        (LIST, status(404), Refused, "host_not_authorised"),
        (LIST, status(503), PeerUnreachable, None),
        (LIST, body(b"[]"), Refused, "operator_document_invalid"),
        (LIST, edited(lambda found: found.update(operator="daybook.example")), Refused, "operator_document_invalid"),
        (LIST, edited(lambda found: found.update(hosts=[])), Refused, "host_not_authorised"),
        (
            LIST,
            edited(lambda found: [entry.update(endpoint="https://evil.example/x") for entry in found["hosts"]]),
            Refused,
            "host_not_authorised",
        ),
        ("scheduling.json", edited(lambda found: found.pop("operator", None)), Refused, "host_not_authorised"),
        (
            "scheduling.json",
            edited(lambda found: found.update(endpoint="https://evil.example/x")),
            Refused,
            "host_not_authorised",
        ),
    ],
)
async def test_a_missing_unreachable_or_one_sided_listing_authorises_nothing(
    plaza, clock, host, where, rule, error, reason
):
    """Whichever of the two documents is not there, not readable or does not name the other."""
    plaza.wire.rules[where] = rule
    with pytest.raises(error) as caught:
        await HostDocuments(plaza.wire, clock).document(host)
    if reason is not None:
        assert caught.value.refusal.reason == reason


@pytest.mark.req("SCH-036", "SCH-034")
async def test_nothing_is_sent_to_an_endpoint_that_its_operator_stopped_listing(home, plaza, clock):
    """No mandate, no request, not even a signed read; the person is asked nothing."""
    clock.advance(timedelta(minutes=11))
    plaza.wire.rules[LIST] = edited(lambda found: found.update(hosts=[]))
    sent = len(plaza.wire.sent)
    done = await home.call("hold_slot", CLEANING)
    assert done.result["refused"]["reason"] == "host_not_authorised"
    assert [url for _, url in plaza.wire.sent[sent:]] == [DENTIST_DOCUMENT, LIST]
    assert home.questions == []


@pytest.mark.req("SCH-109", "SCH-106", "SCH-041", "SCH-089")
async def test_a_practice_that_wants_the_exact_offer_approved_is_booked_under_its_own_domain(home):
    """Three questions: limits, this offer, the management; each names the practice's own domain."""
    held = await home.call("hold_slot", CLEANING)
    done = await home.call("approve_and_book", {"hold_id": held.result["hold_id"]})
    assert (done.is_error, done.result["user_signed"]) == (False, "this exact offer")
    assert [question.kind for question, _ in home.questions] == ["limits", "offer", "management"]
    assert all("Harbourview Dental (harbourviewdental.example)" in shown.text for _, shown in home.questions)


@pytest.mark.req("SCH-109")
async def test_a_shop_without_a_domain_is_shown_as_listed_by_its_operator(home):
    """In discovery, in every text that is signed, and in what is told of the booking after."""
    told = await home.call("discover_host", {"host": SHOP})
    assert told.result["hosts"][0]["identity"] == "Corner Garage, listed by chairly.example"
    held = await home.call(
        "hold_slot", {**CLEANING, "host": SHOP, "service_id": "oil-change", "max_price": {"amount": "100"}}
    )
    done = await home.call("approve_and_book", {"hold_id": held.result["hold_id"]})
    assert not done.is_error, done.result
    assert all("at Corner Garage, listed by chairly.example" in shown.text for _, shown in home.questions)
    await home.call("cancel_booking", {"booking_id": done.result["booking_id"]})
    told = await home.call("booking_status", {"booking_id": done.result["booking_id"]})
    assert "Corner Garage, listed by chairly.example" in strictjson.encode(told.result).decode()


async def test_a_domain_that_vouches_for_several_hosts_names_none_of_them(home, plaza, clock):
    """The person says which; an operator's bare domain is not a host either."""
    with pytest.raises(Refused) as caught:
        await HostDocuments(plaza.wire, clock).document(OPERATOR)
    assert caught.value.refusal.reason == "host_not_authorised"
    assert (await home.guest.known(OPERATOR)).host == SHOP
    await home.guest.book.keep_host(KnownHost(domain=OPERATOR, host=f"barber@{OPERATOR}", is_listed=True))
    with pytest.raises(Refused) as caught:
        await home.guest.known(OPERATOR)
    assert caught.value.refusal.reason == "host_unknown"
    assert (await home.guest.known(SHOP)).host == SHOP


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (SHOP, SHOP),
        (f"https://{OPERATOR}/hosts/corner-garage", SHOP),
        (f"{OPERATOR}/hosts/corner-garage/", SHOP),
        (f"https://{OPERATOR}/hosts/corner-garage/scheduling.json", SHOP),
        (f"https://{DENTIST_SITE}/", DENTIST_SITE),
    ],
)
async def test_a_listed_host_is_named_the_way_people_write_it(text, address):
    """By its name, by its page at the operator, or by its own domain."""
    assert read_address(text) == address


async def test_the_shops_document_is_where_the_list_says(plaza, clock):
    """And the practice's is not on the operator's origin."""
    assert (await plaza.wire.get(SHOP_DOCUMENT)).status == 200
    assert (await plaza.wire.get(SHOP_DOCUMENT.replace("corner-garage", "harbourview-dental"))).status == 404


@pytest.mark.req("SCH-041", "SCH-089")
async def test_limits_alone_do_not_book_where_the_exact_offer_has_to_be_approved(tmp_path, clock, plaza):
    """A person who wishes to be asked once is asked for the offer all the same, before the host is."""
    with fresh_store(tmp_path, clock, name="once.db") as store:
        home = household(store, clock, plaza.wire, limits_only=True)
        await home.guest.add_host(DENTIST_SITE)
        held = await home.call("hold_slot", CLEANING)
        refused_before = plaza.wire.count("/confirm")
        done = await home.call("approve_and_book", {"hold_id": held.result["hold_id"]})
    assert (done.is_error, done.result["user_signed"]) == (False, "this exact offer")
    assert [question.kind for question, _ in home.questions] == ["limits", "offer", "management"]
    assert plaza.wire.count("/confirm") == refused_before + 1


@pytest.mark.req("SCH-041", "SCH-081", "SCH-089")
async def test_a_yes_given_beforehand_does_not_book_where_the_person_has_to_approve(home):
    """The host refuses what nobody was present for, and the person is told why; nothing is booked."""
    held = await home.call("hold_slot", CLEANING, mode="preapproved")
    done = await home.call("approve_and_book", {"hold_id": held.result["hold_id"]}, mode="preapproved")
    assert done.is_error
    assert done.result["refused"]["reason"] == "mode_not_accepted"
    assert "guest.booking_confirmed" not in await home.kinds()
