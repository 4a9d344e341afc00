"""Whether a host and its operator name each other; anything one-sided authorises nothing."""

from __future__ import annotations

import pytest

from sayso.core import strictjson
from sayso.core.refusal import Refused
from sayso.scheduling.terms.discovery_checks import verify_discovery, verify_listed
from sayso.scheduling.terms.operator_checks import verify_operator
from tests.scheduling.terms.samples import SAM, discovery

OPERATOR = "chairly.example"
NAME = f"fades-on-queen@{OPERATOR}"
LISTED = {
    "id": "fades-on-queen",
    "title": "Fades on Queen",
    "kind": "business",
    "document": f"https://{OPERATOR}/hosts/fades-on-queen/scheduling.json",
    "endpoint": f"https://{OPERATOR}/hosts/fades-on-queen/schcp/v0",
}
OWN = {
    "id": "harbourview-dental",
    "title": "Harbourview Dental",
    "kind": "business",
    "document": "https://harbourviewdental.example/.well-known/scheduling.json",
    "endpoint": f"https://{OPERATOR}/hosts/harbourview-dental/schcp/v0",
    "domain": "harbourviewdental.example",
}


def operator_json(*hosts, **changed):
    found = {
        "versions": ["0.4"],
        "operator": OPERATOR,
        "name": "Chairly",
        "contact": {"email": "help@chairly.example"},
        "hosts": list(hosts),
        **changed,
    }
    return strictjson.encode(found)


def listing(*hosts, **changed):
    return verify_operator(operator_json(*hosts, **changed), OPERATOR)


def shop(**changed):
    return strictjson.encode(
        discovery(host=NAME, title="Fades on Queen", endpoint=LISTED["endpoint"], **{"operator": OPERATOR, **changed})
    )


def practice(**changed):
    found = {
        "host": "harbourview-dental@harbourviewdental.example",
        "title": "Harbourview Dental",
        "endpoint": OWN["endpoint"],
        "operator": OPERATOR,
        **changed,
    }
    return strictjson.encode(discovery(**found))


def reason_of(ask):
    with pytest.raises(Refused) as caught:
        ask()
    return caught.value.refusal.reason


@pytest.mark.req("SCH-035", "SCH-044", "SCH-047")
def test_a_host_without_a_domain_is_vouched_for_by_its_operator():
    """Its document at the operator names the operator, whose list names it."""
    found = verify_listed(shop(), NAME, listing(LISTED, OWN))
    assert (found.host, found.endpoint) == (NAME, LISTED["endpoint"])


@pytest.mark.req("SCH-034", "SCH-044")
def test_a_host_with_a_domain_and_its_operator_name_each_other():
    """Then an endpoint away from the domain is authorised."""
    found = verify_discovery(practice(), "harbourviewdental.example", listing(LISTED, OWN))
    assert found.endpoint == OWN["endpoint"]


@pytest.mark.req("SCH-036", "SCH-034", "SCH-044", "SCH-037")
@pytest.mark.parametrize(
    "entry",
    [
        None,
        {**OWN, "domain": None},
        {**OWN, "domain": "evil.example"},
        {**OWN, "id": "harbourview"},
        {**OWN, "title": "Harborview Dental"},
        {**OWN, "kind": "person"},
        {**OWN, "document": f"https://{OPERATOR}/hosts/harbourview-dental/scheduling.json"},
        {**OWN, "endpoint": f"https://{OPERATOR}/hosts/fades-on-queen/schcp/v0"},
        {**OWN, "endpoint": "https://evil.example/schcp/v0"},
    ],
)
def test_an_operator_that_does_not_name_the_host_back_authorises_nothing(entry):
    """Not listed, listed under another domain, id, title or kind, or with other places."""
    hosts = [] if entry is None else [{name: value for name, value in entry.items() if value is not None}]
    ask = lambda: verify_discovery(practice(), "harbourviewdental.example", listing(*hosts))  # noqa: E731
    assert reason_of(ask) == "host_not_authorised"


@pytest.mark.req("SCH-036", "SCH-034")
@pytest.mark.parametrize(
    "changed",
    [
        {"operator": None},
        {"operator": "daybook.example"},
        {"operator": "harbourviewdental.example"},
        {"endpoint": "https://harbourviewdental.example/schcp/v0"},
        {"endpoint": "https://evil.example/hosts/harbourview-dental/schcp/v0"},
        {"endpoint": f"https://{OPERATOR}/hosts/fades-on-queen/schcp/v0"},
    ],
)
def test_a_host_that_does_not_name_its_operator_is_not_authorised_by_being_listed(changed):
    """The operator alone, or another operator, or an endpoint that is not the listed one."""
    data = practice(**changed)
    if changed.get("operator", OPERATOR) is None:
        data = strictjson.encode({k: v for k, v in strictjson.parse(data).items() if k != "operator"})
    ask = lambda: verify_discovery(data, "harbourviewdental.example", listing(OWN))  # noqa: E731
    assert reason_of(ask) == "host_not_authorised"


@pytest.mark.req("SCH-047", "SCH-034")
def test_an_endpoint_elsewhere_is_not_authorised_though_both_sides_name_it():
    """An operator runs a host's endpoint in one place, on its own origin; it cannot vouch for somebody else's."""
    for endpoint in ("https://evil.example/schcp/v0", f"https://{OPERATOR}/hosts/fades-on-queen/schcp/v0"):
        both = listing({**OWN, "endpoint": endpoint})
        ask = lambda at=endpoint, found=both: verify_discovery(  # noqa: E731
            practice(endpoint=at), "harbourviewdental.example", found
        )
        assert reason_of(ask) == "host_not_authorised"


@pytest.mark.req("SCH-036")
def test_a_host_that_names_an_operator_nobody_asked_is_not_authorised():
    """Without the other document there is one side only."""
    ask = lambda: verify_discovery(practice(), "harbourviewdental.example")  # noqa: E731
    assert reason_of(ask) == "host_not_authorised"


@pytest.mark.req("SCH-036", "SCH-046")
def test_an_operator_cannot_serve_one_shop_in_anothers_place():
    """The document under a name is that name's, and says so."""
    other = listing(LISTED, {**LISTED, "id": "other"})
    for ask in (
        lambda: verify_listed(shop(), f"other@{OPERATOR}", other),
        lambda: verify_listed(shop(operator="daybook.example"), NAME, listing(LISTED)),
        lambda: verify_listed(shop(), NAME, listing()),
        lambda: verify_listed(shop(), NAME, listing({**LISTED, "domain": "fades.example"})),
    ):
        assert reason_of(ask) == "host_not_authorised"


@pytest.mark.req("SCH-048", "SCH-019", "SCH-046")
@pytest.mark.parametrize(
    "data",
    [
        b"<html>",
        operator_json(operator="daybook.example"),
        operator_json(versions=["0.3"]),
        operator_json(fee="1"),
        operator_json({**LISTED, "search": True}),
        operator_json(LISTED, {**OWN, "id": LISTED["id"]}),
        operator_json(keys=[{"kid": "k", "use": "sign", "jwk": {**SAM.public.jwk(), "d": "x" * 43}}]),
    ],
)
def test_a_list_that_is_none_is_refused(data):
    """Somebody else's, of another version, with unknown members, an id twice, or a private key."""
    assert reason_of(lambda: verify_operator(data, OPERATOR)) == "operator_document_invalid"
