"""Discovery documents: closed, consistent, and allowed to name their endpoint."""

from __future__ import annotations

import pytest

from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.scheduling.terms.discovery import find_service
from sayso.scheduling.terms.discovery_checks import published_key, signing_key, verify_discovery
from tests.scheduling.terms.samples import DOMAIN, HOST_KEY, SAM, discovery, document


def refused_for(changed, domain=DOMAIN):
    with pytest.raises(Refused) as caught:
        verify_discovery(strictjson.encode({**discovery(), **changed}), domain)
    return caught.value.refusal.reason, caught.value.refusal.place


def with_policy(name, value):
    return {"policies": {**discovery()["policies"], name: value}}


def with_service(**changed):
    return {"services": [{**discovery()["services"][0], **changed}]}


@pytest.mark.req("SCH-029", "SCH-030", "SCH-031", "SCH-050")
def test_the_walkthroughs_document_is_read_whole():
    """Services, policies and keys as section 4 names them."""
    found = document()
    assert find_service(found, "oil-change").duration == "PT45M"
    assert find_service(found, "nothing") is None
    assert (found.policies.retention, found.policies.closed_mandate, found.meetings) == ("P365D", "never", False)


@pytest.mark.req("SCH-048", "SCH-402", "SCH-399")
@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"wallet": True}, "$"),
        (with_policy("cancellation_fee", {"amount": "20.00", "currency": "CAD"}), "$.policies"),
        (with_policy("closed_mandate", "if_no_show_fee"), "$.policies.closed_mandate"),
        (with_service(deposit={"amount": "20.00", "currency": "CAD"}), "$.services[0]"),
        ({"kind": "merchant"}, "$.kind"),
        ({"contact": {"phone": "+1 416 555 0134", "fax": "1"}}, "$.contact"),
    ],
)
def test_a_member_the_version_does_not_know_is_refused(changed, place):
    """At every depth."""
    assert refused_for(changed) == ("host_document_invalid", place)


@pytest.mark.req("SCH-274", "SCH-276", "SCH-269", "SCH-042")
@pytest.mark.parametrize(
    "changed",
    [
        {"versions": ["0.3"]},
        {"timezone": "America/Gotham"},
        {"timezone": "america/toronto"},
        {"contact": {}},
        with_service(duration="P1M"),
        with_service(buffer="PT1.5H"),
        with_service(price={"amount": "79.0", "currency": "CAD"}),
        with_service(set_aside="PT1H"),
        with_service(choose_from=["alex"]),
        with_policy("retention", "P1Y"),
        with_policy("confirmation", {"mode": "approval"}),
        with_policy("confirmation", {"mode": "instant", "answer_within": "PT2H"}),
        {"services": [discovery()["services"][0]] * 2},
        {"keys": discovery()["keys"] * 2},
        {"keys": []},
    ],
)
def test_a_document_that_contradicts_itself_is_refused(changed):
    """Inexact durations, unknown zones, wrong amounts, ids twice, nobody to call."""
    assert refused_for(changed)[0] == "host_document_invalid"


@pytest.mark.req("SCH-019")
def test_a_document_with_a_private_key_is_refused():
    """The host lost its key; nothing it signs counts."""
    keys = [{"kid": "k1", "use": "sign", "jwk": {**HOST_KEY.public.jwk(), "d": "x" * 43}}]
    assert refused_for({"keys": keys})[0] == "host_document_invalid"


@pytest.mark.req("SCH-024")
def test_a_document_with_a_repeated_member_is_refused():
    """Also when the repetition is escaped."""
    data = strictjson.encode(discovery()).replace(b'{"versions"', b'{"k\\u0069nd":"person","versions"')
    with pytest.raises(Refused) as caught:
        verify_discovery(data, DOMAIN)
    assert caught.value.refusal.reason == "host_document_invalid"


@pytest.mark.req("SCH-034", "SCH-036", "SCH-045")
@pytest.mark.parametrize(
    "endpoint",
    [
        "https://evil.example/schcp/v0",
        f"https://api.{DOMAIN}/schcp/v0",
        f"https://{DOMAIN}:8443/schcp/v0",
        f"https://{DOMAIN}.evil.example/schcp/v0",
        f"https://{DOMAIN}@evil.example/schcp/v0",
        f"https://{DOMAIN}/schcp/v0/",
        f"https://{DOMAIN}/schcp/v0?x=1",
        f"https://{DOMAIN}/schcp/v0#x",
    ],
)
def test_an_endpoint_anywhere_but_at_the_hosts_own_origin_is_not_authorised(endpoint):
    """A subdomain is another host."""
    assert refused_for({"endpoint": endpoint}) == ("host_not_authorised", "$.endpoint")


@pytest.mark.req("SCH-034", "SCH-046")
def test_a_domain_vouches_for_its_own_hosts_only():
    """A document served elsewhere, or one that calls itself somebody else, authorises nothing."""
    assert refused_for({}, "evil.example") == ("host_not_authorised", "$.host")
    assert refused_for({"host": "maple-street-auto@other.example"}) == ("host_not_authorised", "$.host")


@pytest.mark.req("SCH-018", "SCH-027")
def test_documents_verify_with_the_key_they_name_and_new_ones_not_with_a_retired_one():
    """No other key is tried."""
    found = document(
        keys=[
            {"kid": "old", "use": "verify", "jwk": SAM.public.jwk()},
            {"kid": "k1", "use": "sign", "jwk": HOST_KEY.public.jwk()},
        ]
    )
    assert signing_key(found, "k1") == HOST_KEY.public
    assert published_key(found, "old") == SAM.public
    for ask, kid in ((signing_key, "old"), (published_key, "k2"), (published_key, None)):
        with pytest.raises(Refused) as caught:
            ask(found, kid)
        assert caught.value.refusal.reason == "unknown_key"
