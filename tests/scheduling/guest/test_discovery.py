"""Fetching a host's own document: from its own domain, for ten minutes; nothing is sent to whom it does not name."""

from __future__ import annotations

from datetime import timedelta

import pytest

from sayso.core import strictjson
from sayso.core.refusal import PeerUnreachable, Refused
from sayso.scheduling.guest.discovery import AGAIN_AFTER, HostDocuments, read_domain
from sayso.scheduling.terms.codes import refused
from tests.scheduling.guest.hostile import body, edited, status
from tests.scheduling.host.town import DOMAIN
from tests.scheduling.tools.household import HOLD

pytestmark = pytest.mark.anyio
WELL_KNOWN = "/.well-known/scheduling.json"


@pytest.mark.req("SCH-049")
async def test_a_document_is_kept_for_ten_minutes(wire, clock):
    """And fetched again after."""
    documents = HostDocuments(wire, clock)
    first = await documents.document(DOMAIN)
    clock.advance(timedelta(minutes=10) - timedelta(seconds=1))
    assert await documents.document(DOMAIN) is first
    clock.advance(timedelta(seconds=1))
    assert await documents.document(DOMAIN) == first
    assert wire.count(WELL_KNOWN) == 2


@pytest.mark.req("SCH-049", "SCH-018")
async def test_an_unknown_key_fetches_the_document_once_more_and_once_only(wire, clock):
    """A rotated key is found; a made-up one does not make us hammer the host."""
    documents = HostDocuments(wire, clock)
    seen = []

    def check(document):
        seen.append(document)
        if len(seen) < 2:
            raise refused("unknown_key")
        return "found"

    assert await documents.checked(DOMAIN, check) == "found"
    assert wire.count(WELL_KNOWN) == 2

    def never(_document):
        raise refused("unknown_key")

    clock.advance(AGAIN_AFTER - timedelta(seconds=1))
    for wait, fetched in ((0, 2), (1, 3), (1, 3)):
        clock.advance(timedelta(seconds=wait))
        with pytest.raises(Refused):
            await documents.checked(DOMAIN, never)
        assert wire.count(WELL_KNOWN) == fetched


@pytest.mark.req("SCH-036")
@pytest.mark.parametrize(
    ("rule", "error", "reason"),
    [
        (status(404), Refused, "host_not_authorised"),
        (status(403), Refused, "host_not_authorised"),
        (status(503), PeerUnreachable, None),
        (body(b"<html>"), Refused, "host_document_invalid"),
        (body(b'{"versions":["0.4"]}'), Refused, "host_document_invalid"),
        (edited(lambda found: found.update(endpoint="https://evil.example/schcp/v0")), Refused, "host_not_authorised"),
        (edited(lambda found: found.update(host="evil@evil.example")), Refused, "host_not_authorised"),
        (edited(lambda found: found.update(fee="1")), Refused, "host_document_invalid"),
    ],
)
async def test_a_missing_or_wrong_document_authorises_nothing(wire, clock, rule, error, reason):
    """Not there, not readable, somebody else's, or pointing elsewhere."""
    wire.rules[WELL_KNOWN] = rule
    with pytest.raises(error) as caught:
        await HostDocuments(wire, clock).document(DOMAIN)
    if reason is not None:
        assert caught.value.refusal.reason == reason


@pytest.mark.req("SCH-036", "SCH-034")
async def test_nothing_is_sent_to_a_host_whose_document_stopped_naming_its_endpoint(home, wire, clock):
    """No mandate, no request, not even a signed read."""
    clock.advance(timedelta(minutes=11))
    wire.rules[WELL_KNOWN] = edited(lambda found: found.update(endpoint="https://evil.example/schcp/v0"))
    sent = len(wire.sent)
    done = await home.call("hold_slot", HOLD)
    assert done.result["refused"]["reason"] == "host_not_authorised"
    assert [url for _, url, _, _ in wire.sent[sent:]] == [f"https://{DOMAIN}{WELL_KNOWN}"]


async def test_a_domain_that_vouches_for_another_host_than_before_is_refused(home, wire, clock):
    """What was added was a host, not whatever the domain names next."""
    clock.advance(timedelta(minutes=11))
    wire.rules[WELL_KNOWN] = edited(lambda found: found.update(host=f"other-shop@{DOMAIN}"))
    done = await home.call(
        "find_slots",
        {
            "host": DOMAIN,
            "service_id": "oil-change",
            "earliest_start": "2026-10-15T11:00",
            "latest_start": "2026-10-15T15:00",
        },
    )
    assert done.result["refused"]["reason"] == "host_not_authorised"


async def test_only_hosts_a_person_added_are_known(home):
    """And an assistant learns how one is added."""
    done = await home.call("discover_host", {"host": "https://chairly.example"})
    assert (done.result["refused"]["reason"], done.result["refused"]["help"]) == (
        "host_unknown",
        "Use a name from discover_host, or add it with `sayso guest add URL`.",
    )


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("maplestreetauto.example", DOMAIN),
        ("https://maplestreetauto.example", DOMAIN),
        ("https://MapleStreetAuto.example/", DOMAIN),
        (" maple-street-auto@maplestreetauto.example ", DOMAIN),
    ],
)
async def test_a_host_is_named_the_way_people_write_it(text, domain):
    """Domain, URL or global name."""
    assert read_domain(text) == domain


@pytest.mark.parametrize(
    "text", ["", "maple", "http://maplestreetauto.example", "https://x.example/path", "a b.example", "10.0.0.1:80"]
)
async def test_what_names_no_host_is_refused(text):
    """Plain HTTP, paths and bare words."""
    with pytest.raises(Refused) as caught:
        read_domain(text)
    assert caught.value.refusal.reason == "host_unknown"


async def test_the_document_of_the_shop_is_the_one_it_serves(town, wire, clock):
    """Byte for byte what the host has."""
    document = await HostDocuments(wire, clock).document(DOMAIN)
    assert strictjson.parse(strictjson.encode(document))["host"] == strictjson.parse(town.desk.document)["host"]
