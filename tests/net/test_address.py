"""Which URLs and addresses another party may make us reach."""

from __future__ import annotations

import contextlib
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.core.refusal import Refused
from sayso.net.address import Target, is_public, public_addresses, read_origin, read_url

LONG_LABEL = "a" * 64

REFUSED_URLS = [
    ("http://shop.example/", "scheme"),
    ("ftp://shop.example/", "scheme"),
    ("file:///etc/passwd", "scheme"),
    ("javascript://shop.example/%0aalert(1)", "scheme"),
    ("//shop.example/", "malformed"),
    ("shop.example", "malformed"),
    ("https:/shop.example/", "malformed"),
    ("https:shop.example", "malformed"),
    (" https://shop.example/", "malformed"),
    ("", "malformed"),
    ("https://user@shop.example/", "userinfo"),
    ("https://user:secret@shop.example/", "userinfo"),
    ("https://shop.example@127.0.0.1/", "userinfo"),
    ("https://shop.example/#top", "fragment"),
    ("https://shop.example#", "fragment"),
    ("https://127.0.0.1/", "ip_literal"),
    ("https://127.1/", "ip_literal"),
    ("https://0x7f000001/", "ip_literal"),
    ("https://0X7F.1/", "ip_literal"),
    ("https://0x/", "ip_literal"),
    ("https://2130706433/", "ip_literal"),
    ("https://017700000001/", "ip_literal"),
    ("https://127.0.0.1./", "ip_literal"),
    ("https://shop.127/", "ip_literal"),
    ("https://93.184.216.34/", "ip_literal"),
    ("https://[::1]/", "ip_literal"),
    ("https://[fe80::1%25eth0]/", "ip_literal"),
    ("https://[::ffff:127.0.0.1]:443/", "ip_literal"),
    ("https://localhost/", "host"),
    ("https://shop/", "host"),
    ("https://shop.example./", "host"),
    ("https://shop..example/", "host"),
    ("https://-shop.example/", "host"),
    ("https://shop_1.example/", "host"),
    ("https://sh%6fp.example/", "host"),
    ("https://shop.example\\.evil.example/", "host"),
    ("https://shop.example\n/", "host"),
    ("https://straße.example/", "host"),
    ("https://１２７.０.０.１/", "host"),
    ("https://shop。example/", "host"),
    ("https://\u212aiosk.example/", "host"),
    (f"https://{LONG_LABEL}.example/", "host"),
    (f"https://{'abc.' * 64}example/", "host"),
    ("https:///path", "host"),
    ("https://shop.example:/", "port"),
    ("https://shop.example:0/", "port"),
    ("https://shop.example:0443/", "port"),
    ("https://shop.example:+443/", "port"),
    ("https://shop.example:٤٤٣/", "host"),
    ("https://shop.example:65536/", "port"),
    ("https://shop.example:443:443/", "port"),
    ("https://shop.example/a b", "malformed"),
    ("https://shop.example/a\r\nX: y", "malformed"),
    ("https://shop.example/é", "malformed"),
    ("https://shop.example/%zz", "malformed"),
    ("https://shop.example/?%zz", "malformed"),
    ("https://shop.example/a?", "malformed"),
    ("https://shop.example?", "malformed"),
    ("https://shop.example/a\\b", "malformed"),
    ("https://shop.example/../etc", "dot_segments"),
    ("https://shop.example/a/./b", "dot_segments"),
    ("https://shop.example/a/%2E%2e/b", "dot_segments"),
    ("https://shop.example/a/.", "dot_segments"),
    ("https://shop.example/a/..?x=1", "dot_segments"),
    ("https://shop.example/" + "a" * 2048, "too_long"),
]


@pytest.mark.req("SCH-324", "SCH-325")
@pytest.mark.parametrize(("url", "reason"), REFUSED_URLS)
def test_every_spelling_but_the_plain_one_is_refused(url: str, reason: str) -> None:
    """Nothing is repaired, so nobody can read a URL in two ways."""
    with pytest.raises(Refused) as caught:
        read_url(url)
    assert (caught.value.refusal.code, caught.value.refusal.reason) == ("url_not_allowed", reason)


@pytest.mark.req("SCH-325")
@pytest.mark.parametrize(
    ("url", "target", "uri"),
    [
        ("https://shop.example", Target(host="shop.example", port=443, path="/"), "https://shop.example/"),
        ("HTTPS://Shop.EXAMPLE:443/A", Target(host="shop.example", port=443, path="/A"), "https://shop.example/A"),
        ("https://shop.example?x=1", Target(host="shop.example", port=443, path="/?x=1"), "https://shop.example/?x=1"),
        (
            "https://shop.example:8443/a%2Fb//c?b=2&a=1+%20?/",
            Target(host="shop.example", port=8443, path="/a%2Fb//c?b=2&a=1+%20?/"),
            "https://shop.example:8443/a%2Fb//c?b=2&a=1+%20?/",
        ),
        ("https://xn--strae-oqa.example/...", Target(host="xn--strae-oqa.example", port=443, path="/..."), "https://xn--strae-oqa.example/..."),
    ],
)  # fmt: skip
def test_a_plain_url_is_taken_apart_and_written_in_one_spelling(url: str, target: Target, uri: str) -> None:
    """Path and query are kept byte for byte; scheme, host and default port have one spelling."""
    assert (read_url(url), read_url(url).uri) == (target, uri)


@pytest.mark.parametrize("origin", ["https://shop.example/", "https://shop.example/a", "https://shop.example?x=1"])
def test_an_origin_ends_after_its_authority(origin: str) -> None:
    """A public origin with a path would move every signed target."""
    with pytest.raises(Refused):
        read_origin(origin)
    assert read_origin("https://shop.example:8443").authority == "shop.example:8443"


NOT_PUBLIC = """
0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255
192.0.0.8 192.0.0.170 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1
239.255.255.250 240.0.0.1 255.255.255.255
:: ::1 ::7f00:1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1 64:ff9b::7f00:1
64:ff9b::169.254.169.254 64:ff9b:1::8.8.8.8 64:ff9b:1:abcd::1 100::1 2001::1 2001:2::1 2001:10::1 2001:20::1 2001:db8::1
2002:7f00:1:: 2002:a9fe:a9fe::1 2002:c0a8:101::1 3fff::1 5f00::1 fc00::1 fd12:3456::1 fe80::1 fec0::1 ff02::1 ff0e::1
2001:0:7f00:1:8000:f227:f7f7:f7f7 2001:0:808:808:0:0:80ff:fffe
fe80::1%eth0 2606:2800:220:1::1%eth0 8.8.8.8%1
127.1 0x7f.1 2130706433 017700000001 127.0.0.01 localhost shop.example 8.8.8.8:443 [::1] 1.2.3
""".split()  # noqa: SIM905 - a table to read

PUBLIC = """
8.8.8.8 93.184.216.34 1.1.1.1 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 223.255.255.255
2606:2800:220:1:248:1893:25c8:1946 2a00:1450:4001::1
2001:4860:4860::8888 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1
""".split()  # noqa: SIM905 - a table to read


@pytest.mark.req("SCH-325")
@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_an_address_off_the_public_internet_is_not_public(address: str) -> None:
    """Loopback, private, link-local, metadata, multicast, documentation: also inside IPv6 wrappings."""
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_on_the_public_internet_is_public(address: str) -> None:
    """The rule must not close the internet."""
    assert is_public(address)


@given(st.ip_addresses(v=4))
def test_no_ipv4_that_python_calls_private_is_public(address: IPv4Address) -> None:
    """Our table is never laxer than the standard library's."""
    assert not is_public(str(address)) or (address.is_global and not address.is_multicast)


@given(st.ip_addresses(v=4), st.sampled_from(["::ffff:{}", "64:ff9b::{}", "2002:{h:04x}:{l:04x}::1"]))
def test_a_wrapped_ipv4_is_as_public_as_what_is_inside(address: IPv4Address, wrapping: str) -> None:
    """No wrapping makes a private address public."""
    high, low = divmod(int(address), 1 << 16)
    assert is_public(str(IPv6Address(wrapping.format(address, h=high, l=low)))) == is_public(str(address))


@given(st.text())
def test_reading_a_url_never_fails_in_another_way(text: str) -> None:
    """Any text is a target or a typed refusal."""
    for url in (text, f"https://{text}", f"https://shop.example{text}", f"https://shop.example/{text}"):
        with contextlib.suppress(Refused):
            target = read_url(url)
            assert read_url(target.uri) == target


@pytest.mark.req("SCH-325")
@pytest.mark.parametrize("bad", ["10.0.0.1", "::1", "64:ff9b::a9fe:a9fe"])
def test_one_private_answer_spoils_all(bad: str) -> None:
    """A name that answers with public and private addresses is refused whole, wherever the private one stands."""
    for answers in (["8.8.8.8", bad], [bad, "8.8.8.8"]):
        with pytest.raises(Refused) as caught:
            public_addresses(answers)
        assert caught.value.refusal.reason == "address_not_public"
        assert bad not in str(caught.value)


def test_no_answer_is_no_address() -> None:
    """An empty list of answers is not a list of public ones."""
    with pytest.raises(Refused) as caught:
        public_addresses([])
    assert caught.value.refusal.reason == "no_address"
