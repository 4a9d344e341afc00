"""What has to fit together in a catalog: each rule has a catalog that breaks it."""

from __future__ import annotations

import msgspec
import pytest

from sayso.control.provider.catalog.coherence import catalog_faults, row_faults
from sayso.control.provider.catalog.rows import Catalog, Endpoint, OAuthFlow, OAuthOrigin, Row

WIRE = "openai-chat-completions"
FLOW = OAuthFlow(token_endpoint="https://toy.example/token", device_endpoint="https://toy.example/d", client_id="me")
GOOD = Row(
    id="toy", wires=(WIRE,), base_url_source="static", endpoints=(Endpoint(wire=WIRE, base_url="https://t.example"),)
)


def two(*regions: str | None) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(wire=WIRE, base_url=f"https://r{at}.example", region=each) for at, each in enumerate(regions))


def test_a_good_row_has_no_fault() -> None:
    """The row the others are made from."""
    assert row_faults(GOOD) == []


@pytest.mark.req("OAP-143", "OAP-146")
def test_a_doubled_id_and_a_current_row_behind_another_are_told() -> None:
    """Across rows, each by its id."""
    rows = (GOOD, msgspec.structs.replace(GOOD, id="late", status="current"), GOOD)
    assert catalog_faults(Catalog(providers=rows)) == [
        "toy stands twice",
        "late is current and stands behind a row that is not",
    ]


@pytest.mark.req("OAP-142", "OAP-146")
@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"auth": ("api_key", "api_key")}, "auth names something twice"),
        ({"credential_env": ("A", "A"), "auth": ("api_key",)}, "credential_env names something twice"),
        ({"credential_env": ("A",)}, "credential_env names variables and auth does not list api_key"),
        ({"bearer_env": ("A",)}, "bearer_env names a variable that is not in credential_env"),
        ({"wires": ("anthropic-messages",)}, "an endpoint has a wire that is not in wires"),
        ({"endpoints": two(None, None)}, "two endpoints serve the same wire and region"),
        ({"endpoints": ()}, "base_url_source is static and there is no endpoint"),
        ({"base_url_source": "derived"}, "base_url_source is derived and there is an endpoint"),
        ({"endpoints": two("a", "b"), "default_region": "c"}, "default_region is the region of no endpoint"),
        ({"endpoints": two("a", "b")}, "endpoints have regions and there is no default_region"),
        ({"endpoints": two("a", None), "default_region": "a"}, "some endpoints have a region and some have none"),
        ({"context_window": 9, "max_context_window": 8}, "context_window is above max_context_window"),
        ({"oauth": FLOW, "auth": ("oauth",)}, "oauth has no oauth_origin: a token could go nowhere"),
        (
            {"oauth": FLOW, "oauth_origin": OAuthOrigin(domain="toy.example")},
            "oauth says how to sign in and auth does not list it",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_told(change: dict[str, object], fault: str) -> None:
    """One change, one fault."""
    assert row_faults(msgspec.structs.replace(GOOD, **change)) == [fault]


@pytest.mark.req("OAP-142")
def test_a_flow_needs_an_endpoint_and_a_client() -> None:
    """Otherwise nobody could sign in by it."""
    bare = OAuthFlow(token_endpoint="https://toy.example/token")
    row = msgspec.structs.replace(GOOD, auth=("oauth",), oauth=bare, oauth_origin=OAuthOrigin(domain="toy.example"))
    assert row_faults(row) == [
        "oauth has neither a device_endpoint nor an authorization_endpoint",
        "oauth has neither client_id nor client_id_env",
    ]
