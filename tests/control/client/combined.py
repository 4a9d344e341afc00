"""A real `sayso serve agent,provider --stdio` over a fixture vendor, for the SDK's tests."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal

from sayso.control.client.combined import Sayso
from sayso.net.child import Program
from sayso.testing.vendor_servers import Answer
from tests.control.provider.service.vendors import Vendor, open_vendor

BINARY = Path(sys.executable).with_name("sayso")


def program(home: Path, environ: Mapping[str, str], *role: str) -> Program:
    """Our own command; the child sees these variables and nothing of this process's."""
    arguments = role or ("agent,provider",)
    seen = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "SAYSO_TEST_BREAK")}
    command = [str(BINARY), "serve", *arguments, "--stdio", "--home", str(home)]
    return Program(command=command, environment={**seen, **environ}, called="sayso serve")


@dataclass
class Stand:
    """A client, and the vendor behind it."""

    client: Sayso
    vendor: Vendor


@asynccontextmanager
async def sdk(home: Path, wire: str, answers: Iterable[Answer], **options: Any) -> AsyncIterator[Stand]:
    async with open_vendor(wire, answers) as vendor:
        environ = {**vendor.environ, "SAYSO_MODEL": vendor.ref}
        async with Sayso(program(home, environ), **options) as client:
            yield Stand(client, vendor)


@contextmanager
def standing(wire: str, answers: Iterable[Answer]) -> Iterator[tuple[Mapping[str, str], str]]:
    """A vendor on a thread of its own, for a test that does not await: its environment and its model."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(open_vendor(wire, answers)) as vendor:
        yield vendor.environ, vendor.ref
