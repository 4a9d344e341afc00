"""Where an HTTP source may stand."""

from __future__ import annotations

from collections.abc import Sequence

import httpcore2
import pytest

from sayso.control.mcp_sources.endpoint import dialled, read_endpoint
from sayso.core.refusal import Refused


@pytest.mark.req("OAP-064")
@pytest.mark.parametrize(
    "url",
    [
        "http://shop.example/mcp", "http://127.0.0.1.nip.example/mcp", "http://10.0.0.1/mcp", "http://0.0.0.0/mcp",
        "http://user:hunter2@127.0.0.1:8000/mcp", "http://127.0.0.1:8000/mcp#x", "http://127.0.0.1:99999/mcp",
        "http://127.0.0.1/a b", "https://user@shop.example/mcp", "https://127.0.0.1/mcp", "https://10.0.0.1/mcp",
        "ftp://127.0.0.1/mcp", "file:///etc/passwd", "//127.0.0.1/mcp", "mcp", "",
    ],
)  # fmt: skip
def test_anything_but_https_and_this_machine_is_refused(url: str) -> None:
    """And the refusal does not repeat it: what was written may hold a secret."""
    with pytest.raises(Refused) as caught:
        read_endpoint(url)
    assert (caught.value.refusal.code, caught.value.refusal.reason) == ("open_failed", "endpoint")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "authority", "target"),
    [
        ("http://127.0.0.1:8000/mcp?k=1", "127.0.0.1:8000", b"/mcp?k=1"),
        ("http://localhost:8000", "localhost:8000", b"/"),
        ("http://[::1]:8000/x", "[::1]:8000", b"/x"),
        ("https://shop.example/mcp", "shop.example", b"/mcp"),
        ("https://shop.example:8443/mcp", "shop.example:8443", b"/mcp"),
    ],
)
def test_an_endpoint_is_taken_as_it_is_written(url: str, authority: str, target: bytes) -> None:
    """Its path and query are nobody's to tidy."""
    endpoint = read_endpoint(url)
    assert (endpoint.authority, endpoint.url.target) == (authority, target)


@pytest.mark.parametrize(
    "header",
    [("Host", "x"), ("Mcp-Session-Id", "x"), ("a b:", "x"), ("", "x"), ("X-Key", "a\r\nb: c"), ("X-Key", "ключ")],
)
def test_a_header_that_is_not_the_operators_to_set_is_refused(header: tuple[str, str]) -> None:
    """Nor one that would end the header and begin another."""
    with pytest.raises(Refused) as caught:
        read_endpoint("http://127.0.0.1/mcp", (header,))
    assert caught.value.refusal.reason == "header"


class PrivateNet:
    """A resolver that leads every name into the house."""

    def __init__(self) -> None:
        self.dialled: list[str] = []

    async def addresses(self, host: str) -> Sequence[str]:
        return ("10.0.0.7",)

    async def connect(self, address: str, port: int) -> httpcore2.AsyncNetworkStream:
        self.dialled.append(address)
        raise OSError


@pytest.mark.req("OAP-064")
@pytest.mark.anyio
async def test_an_endpoint_that_only_an_attachment_names_is_not_dialled_in_a_private_network() -> None:
    """Whoever may open a session is not thereby led to what stands behind the firewall."""
    network = PrivateNet()
    async with dialled(read_endpoint("https://inside.example/mcp"), is_vouched_for=False, network=network) as pool:
        with pytest.raises(Refused) as caught:
            await pool.request("POST", "https://inside.example/mcp")
    assert (caught.value.refusal.reason, network.dialled) == ("address_not_public", [])


def test_neither_the_endpoint_nor_its_headers_are_in_a_repr() -> None:
    """Both may hold secrets."""
    assert "k3y" not in repr(read_endpoint("http://127.0.0.1/mcp?k=k3y", (("X-Key", "k3y"),)))
