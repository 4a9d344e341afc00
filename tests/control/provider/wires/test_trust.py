"""Whose certificate a wire believes: the system's store, or the operator's file, and no other's."""

from __future__ import annotations

from pathlib import Path

import pytest
import trustme

from sayso.control.provider.wires import Limits, open_wire
from sayso.control.provider.wires.listing import fetch_models
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.core.refusal import PeerUnreachable
from sayso.net.listen import serving
from sayso.testing.provider import Say
from sayso.testing.vendor_servers import VENDORS, Said, VendorServer
from sayso.testing.vendor_servers.server import KEY
from tests.control.provider.tls import tls_in_front
from tests.control.provider.wires.bench import CHAT, NOON, ask, offering

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("is_named", [True, False])
@pytest.mark.req("OAP-154")
async def test_a_vendor_is_believed_by_the_store_the_operator_named(
    is_named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inferences and lists of models alike; a certificate of nobody known gets no credential."""
    authority, file = trustme.CA(), tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(file)
    if is_named:
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
    server = VendorServer(VENDORS[CHAT], [Said([Say("hi")])])
    async with (
        serving(server, grace=0.1) as address,
        tls_in_front(address, authority.issue_cert("localhost")) as port,
        open_wire(
            offering(CHAT, f"https://localhost:{port}/v1", limits=Limits(attempts=1)),
            clock=ManualClock(NOON),
            ids=CountingIds(),
        ) as provider,
    ):
        url = f"https://localhost:{port}/v1/models"
        if is_named:
            types = [envelope.type async for envelope in provider.create(ask())]
            assert types[-1] == "inference.completed"
            assert await fetch_models("toy", CHAT, url, ("authorization", f"Bearer {KEY}"))
        else:
            with pytest.raises(PeerUnreachable):
                await fetch_models("toy", CHAT, url, ("authorization", f"Bearer {KEY}"))
            assert server.received == []
