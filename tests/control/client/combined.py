"""A real `sayso serve agent,provider --stdio` over a fixture vendor, for the SDK's tests."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.from_thread import start_blocking_portal

from sayso.apps.home import open_home
from sayso.apps.models import open_models
from sayso.control.client.combined import Sayso
from sayso.net.child import Program
from sayso.testing.vendor_servers import VENDORS, Answer
from tests.control.provider.service.vendors import Vendor, open_vendor

BINARY = Path(sys.executable).with_name("sayso")


def program(home: Path, environ: Mapping[str, str], *role: str) -> Program:
    """Our own command; the child sees these variables and nothing of this process's."""
    arguments = role or ("agent,provider",)
    seen = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "SAYSO_TEST_BREAK")}
    command = [str(BINARY), "serve", *arguments, "--stdio", "--home", str(home)]
    return Program(command=command, environment={**seen, **environ}, called="sayso serve")


class Stand:
    """One client of one child, and a vendor of each wire behind it, for many tests in turn."""

    def __init__(self, client: Sayso, vendors: Mapping[str, Vendor]) -> None:
        self.client = client
        self._vendors = vendors

    def over(self, wire: str, answers: Iterable[Answer]) -> Vendor:
        """The vendor of a wire, with these answers to come and nothing received."""
        vendor = self._vendors[wire]
        vendor.server.answers = list(answers)
        vendor.server.received.clear()
        vendor.server.gone = anyio.Event()
        return vendor


@asynccontextmanager
async def sdk(home: Path, **options: Any) -> AsyncIterator[Stand]:
    async with AsyncExitStack() as stack:
        vendors = {wire: await stack.enter_async_context(open_vendor(wire)) for wire in VENDORS}
        environ = {name: value for vendor in vendors.values() for name, value in vendor.environ.items()}
        async with open_models(open_home(home, is_world=False), environ=environ) as models:
            for vendor in vendors.values():  # a session's models are those that are known here
                await models.listings.refresh(models.offered.find(vendor.ref.partition("/")[0]))
        client = await stack.enter_async_context(Sayso(program(home, environ), **options))
        yield Stand(client, vendors)


@contextmanager
def standing(wire: str, answers: Iterable[Answer]) -> Iterator[tuple[Mapping[str, str], str]]:
    """A vendor on a thread of its own, for a test that does not await: its environment and its model."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(open_vendor(wire, answers)) as vendor:
        yield vendor.environ, vendor.ref
