"""Where a credential may go: every spelling that looks like an allowed origin and is none."""

from __future__ import annotations

import httpx2
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.provider.catalog.rows import OAuthOrigin, Row
from sayso.control.provider.credentials.origins import origin, verify_destination
from sayso.control.provider.credentials.values import ApiKey, Credential, OAuthToken
from sayso.core.refusal import Refused

KEY, TOKEN = ApiKey(key="sk-secret"), OAuthToken(access_token="at-secret")
EXACT = Row(id="toy", oauth_origin=OAuthOrigin(exact=("https://api.toy.example",)))
DOMAIN = Row(id="toy", oauth_origin=OAuthOrigin(domain="toy.example"))
DECLARED = Row(id="toy", oauth_origin=OAuthOrigin(credential_declares_origin=True))


def may_go(row: Row, credential: Credential, url: str, **environ: str) -> bool:
    """Whether it may; a refusal is the registered one, and repeats no secret."""
    try:
        verify_destination(row, credential, url, environ)
    except Refused as refused:
        refusal, said = refused.refusal, str(refused)
    else:
        return True
    assert (refusal.code, refusal.reason) == ("credential_missing", "origin_not_allowed")
    assert "secret" not in said
    return False


@pytest.mark.req("OAP-153")
@pytest.mark.parametrize(
    "url",
    [
        "https://api.toy.example", "https://API.toy.example/v1", "https://api.toy.example:443/v1/messages",
    ],
)  # fmt: skip
def test_a_token_goes_to_the_origin_its_row_lists(url: str) -> None:
    """Whatever the path, and in the spellings that mean the same origin."""
    assert may_go(EXACT, TOKEN, url)


@pytest.mark.req("OAP-153")
@pytest.mark.parametrize(
    "url",
    [
        "http://api.toy.example", "https://api.toy.example:8443", "https://api.toy.example.evil.example",
        "https://evil.example/api.toy.example", "https://api.toy.example@evil.example", "https://toy.example",
        "https://xapi.toy.example", "https://evil.example#api.toy.example", "https://evil.example?api.toy.example",
        "https://api.toy.example\\@evil.example", "ftp://api.toy.example", "//api.toy.example", "api.toy.example",
        "", "https://", "https://api.toy.example:99999", "https://ａpi.toy.example", "http://localhost:1",
    ],
)  # fmt: skip
def test_a_token_goes_nowhere_else(url: str) -> None:
    """Another scheme, port, host, a user in front, a look-alike."""
    assert not may_go(EXACT, TOKEN, url)


@pytest.mark.req("OAP-153")
def test_a_domain_covers_its_tenants_over_https_alone() -> None:
    """At the ordinary port; a name that only ends alike is another."""
    assert all(may_go(DOMAIN, TOKEN, f"https://{name}toy.example/x") for name in ("", "a.", "a.b."))
    assert not any(
        may_go(DOMAIN, TOKEN, url)
        for url in ("https://eviltoy.example", "https://a.toy.example:8443", "http://a.toy.example", "https://example")
    )


@pytest.mark.req("OAP-153")
@pytest.mark.parametrize(
    "host", ["evil.example%2f", "evil.example%23", "evil.example;", "evil.example&", "*", "evil.example\t", "", "-"]
)
def test_a_host_that_two_readers_could_take_for_two_is_none(host: str) -> None:
    """One of them would see the domain at its end, and the other would go to what stands in front."""
    assert not may_go(DOMAIN, TOKEN, f"https://{host}.toy.example/v1")


@pytest.mark.req("OAP-153")
def test_what_a_token_declares_counts_only_where_its_row_says_so() -> None:
    """Its own answer named the tenant."""
    token = OAuthToken(access_token="t", base_url="https://tenant.example/api")
    assert may_go(DECLARED, token, "https://tenant.example/v1")
    assert not may_go(DECLARED, TOKEN, "https://tenant.example/v1")
    assert not may_go(EXACT, token, "https://tenant.example/v1")
    clear = msgspec.structs.replace(token, base_url="http://tenant.example")
    assert not may_go(DECLARED, clear, "http://tenant.example")


@pytest.mark.req("OAP-153")
def test_the_operator_may_allow_an_origin_for_one_provider() -> None:
    """By name; what is allowed for one is not for another."""
    allowed = "other=https://proxy.example, toy=https://gate.example:8443"
    assert may_go(EXACT, TOKEN, "https://gate.example:8443/v1", SAYSO_OAUTH_ORIGINS=allowed)
    assert not may_go(EXACT, TOKEN, "https://proxy.example", SAYSO_OAUTH_ORIGINS=allowed)
    assert not may_go(
        EXACT, TOKEN, "https://gate.example:8443", SAYSO_OAUTH_ORIGINS="toy=, =, https://gate.example:8443"
    )


@pytest.mark.req("OAP-153")
def test_a_row_without_a_rule_lends_its_token_to_nobody() -> None:
    """No rule is no yes."""
    assert not may_go(Row(id="toy"), TOKEN, "https://api.toy.example")


@pytest.mark.req("OAP-153")
def test_a_key_goes_over_https_or_to_this_machine() -> None:
    """Where it goes is its row's and the operator's; in the clear it goes nowhere but home."""
    assert all(may_go(EXACT, KEY, url) for url in ("https://proxy.example", "http://127.0.0.1:1", "http://[::1]:1/v1"))
    assert not any(may_go(EXACT, KEY, url) for url in ("http://proxy.example", "http://localhost.evil.example", "x"))


@given(st.text(max_size=60))
def test_no_text_is_an_origin_by_accident(text: str) -> None:
    """Whatever is written after the scheme, an origin is a whole one or none."""
    found = origin(f"https://{text}")
    assert found is None or (found[0] == "https" and found[1] and 0 <= found[2] <= 65_535)


PIECES = st.sampled_from(
    ["https://", "http://", "HTTPS://", "toy.example", "evil.example", "api.", "@", ":", "443", "80", "0443", "65536",
     "/", "\\", "?", "#", "%2f", "%40", "%2e", "[::1]", "[::ffff:1.2.3.4]", "127.0.0.1", "localhost", "..", ".", "-",
     "_", "\t", "\n", " ", "\u00e9", "\uff45", ";", "&", "*", "[", "]", "v1", "//", "0x7f.1"]
)  # fmt: skip


@pytest.mark.req("OAP-153")
@given(st.lists(PIECES, max_size=8).map("".join))
def test_the_client_that_sends_reads_the_same_origin(url: str) -> None:
    """A credential is judged by one reader of URLs and sent by another: they agree, or nothing is sent."""
    judged = origin(url)
    if judged is None:
        return
    try:
        sent = httpx2.URL(url)
    except httpx2.InvalidURL:
        return
    port = sent.port or {"http": 80, "https": 443}[sent.scheme]
    assert (sent.scheme, sent.raw_host.decode().strip("[]"), port) == judged
