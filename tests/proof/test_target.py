"""One spelling of what is signed as the target."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.refusal import Refused
from sayso.proof.target import MAX_TARGET, target_uri


@pytest.mark.req("SCH-051", "SCH-055")
@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://shop.example/schcp/v0/holds", "https://shop.example/schcp/v0/holds"),
        ("HTTPS://Shop.EXAMPLE/Path", "https://shop.example/Path"),
        ("https://shop.example", "https://shop.example/"),
        ("https://shop.example:443", "https://shop.example/"),
        ("https://shop.example:8443/x", "https://shop.example:8443/x"),
        ("https://shop.example?x=1", "https://shop.example/?x=1"),
        ("https://shop.example/?", "https://shop.example/?"),
        ("https://shop.example/a?b=2&a=1&a=1+1", "https://shop.example/a?b=2&a=1&a=1+1"),
        ("https://shop.example/a%2Fb%7e%41//c;d", "https://shop.example/a%2Fb%7e%41//c;d"),
        ("https://shop.example/a?u=https://x/?y/../z", "https://shop.example/a?u=https://x/?y/../z"),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
        ("https://127.0.0.1:8443/.well-known/x", "https://127.0.0.1:8443/.well-known/x"),
        ("https://shop.example/a..b/...", "https://shop.example/a..b/..."),
    ],
)
def test_a_url_has_one_spelling(url: str, target: str) -> None:
    """Scheme, host and port are normalised; path and query are kept byte for byte; and again changes nothing."""
    assert target_uri(url) == target
    assert target_uri(target) == target


@pytest.mark.req("SCH-055")
@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://shop.example/", "scheme"),
        ("ftp://shop.example/", "scheme"),
        ("shop.example/", "scheme"),
        ("", "scheme"),
        ("https:/shop.example/", "scheme"),
        ("https://user@shop.example/", "user_information"),
        ("https://user:pass@shop.example/", "user_information"),
        ("https://shop.example/#top", "fragment"),
        ("https://shop.example#", "fragment"),
        ("https://[::1]/", "host"),
        ("https://[fe80::1%25eth0]/", "host"),
        ("https://::1/", "host"),
        ("https://bücher.example/", "host"),
        ("https://ſhop.example/", "host"),
        ("https://shop.example./", "host"),
        ("https://.example/", "host"),
        ("https://-shop.example/", "host"),
        ("https://sh_op.example/", "host"),
        ("https:///path", "host"),
        ("https://shop.example:/", "syntax"),
        ("https://shop.example:0/", "syntax"),
        ("https://shop.example:0443/", "syntax"),
        ("https://shop.example:65536/", "syntax"),
        ("https://shop.example/../x", "dot_segment"),
        ("https://shop.example/a/.", "dot_segment"),
        ("https://shop.example/a/%2e%2E/b", "dot_segment"),
        ("https://shop.example/a/.%2e", "dot_segment"),
        ("https://shop.example/a b", "syntax"),
        ("https://shop.example/ü", "syntax"),
        ("https://shop.example/%zz", "syntax"),
        ("https://shop.example/%2", "syntax"),
        ("https://shop.example/a\\b", "syntax"),
        ("https://shop.example/a\nb", "syntax"),
        ("https://shop.example/\n", "syntax"),
        ('https://shop.example/"x"', "syntax"),
        ("https://shop.example/?ü", "syntax"),
        (" https://shop.example/", "scheme"),
        ("https://shop.example/" + "a" * MAX_TARGET, "syntax"),
    ],
)
def test_a_url_that_two_parties_would_read_differently_is_refused(url: str, reason: str) -> None:
    """Named as well as it can be told."""
    with pytest.raises(Refused) as caught:
        target_uri(url)
    assert (caught.value.refusal.code, caught.value.refusal.reason) == ("malformed_target", reason)


@given(st.text(max_size=40) | st.text("./%2eE:?#@[]aA\n ", max_size=20).map("https://h".__add__))
def test_the_spelling_is_ascii_and_stable(url: str) -> None:
    """Any text is refused or has a spelling that stays as it is."""
    try:
        target = target_uri(url)
    except Refused:
        return
    assert target.isascii()
    assert target.isprintable()
    assert target_uri(target) == target
