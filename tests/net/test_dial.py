"""How a name becomes an address, with the machine's own resolver, and what local settings may say instead."""

from __future__ import annotations

import pytest

from sayso.core.refusal import Refused
from sayso.net.dial import Dialer, SystemNetwork, read_resolve
from sayso.net.fetch import Fetcher


@pytest.mark.req("SCH-325")
@pytest.mark.anyio
@pytest.mark.parametrize("name", ["localhost", "127.1", "0x7f000001", "2130706433", "::1"])
async def test_what_the_resolver_reads_as_loopback_is_not_dialled(name: str) -> None:
    """Even a spelling that got past the URL rules ends here: the resolver's own answer is judged."""
    with pytest.raises(Refused) as caught:
        await Dialer({}, SystemNetwork()).connect_tcp(name, 443)
    assert (caught.value.refusal.code, caught.value.refusal.reason) == ("url_not_allowed", "address_not_public")


def test_entries_are_read_into_places() -> None:
    """A bare name means port 443; both loopback families are loopback."""
    entries = {"Shop.example": "127.0.0.1:8443", "shop.example:8443": "[::1]:9", "b.shop.example": "127.8.8.8:65535"}
    assert read_resolve(entries) == {
        ("shop.example", 443): ("127.0.0.1", 8443),
        ("shop.example", 8443): ("::1", 9),
        ("b.shop.example", 443): ("127.8.8.8", 65535),
    }


@pytest.mark.req("SCH-325")
@pytest.mark.parametrize(
    "target",
    ["10.0.0.1:8443", "93.184.216.34:443", "localhost:8443", "shop.example:8443", "127.0.0.1", "127.0.0.1:", "127.1:80",
     "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:٨٠", "0.0.0.0:80", "[::1]", "::1", "[::1%lo]:80",
     "169.254.169.254:80", ""],
)  # fmt: skip
def test_a_local_entry_beyond_loopback_is_refused_when_made(target: str) -> None:
    """A wrong setting is found at start, says which entry it is and how one is written."""
    with pytest.raises(Refused) as caught:
        Fetcher({"shop.example": target})
    assert (caught.value.refusal.code, caught.value.refusal.place) == ("resolve_not_allowed", "resolve.shop.example")
    assert "127.0.0.1:8443" in str(caught.value)


@pytest.mark.parametrize("name", ["shop.example/a", "https://shop.example", "127.0.0.1", "shop", "shop.example:0", ""])
def test_a_local_entry_for_no_host_name_is_refused_when_made(name: str) -> None:
    """A name that no URL could hold would never be used, so it is a mistake."""
    with pytest.raises(Refused) as caught:
        Fetcher({name: "127.0.0.1:8443"})
    assert caught.value.refusal.code == "resolve_not_allowed"
