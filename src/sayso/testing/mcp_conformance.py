"""Runs MCP's official conformance suite against the door, through the signing proxy (GTW-002): `make conformance-mcp`.

    python -m sayso.testing.mcp_conformance --packages build/conformance-mcp [--revision 2026-07-28]

`--packages` is a folder in which npm has installed the suite and Node. The suite cannot sign, so it talks to the proxy;
the gateway behind it is a real one on a fresh store, with the fixture tools, and with rates that let a suite run.
What is known to fail is listed beside `tests/conformance_mcp`, each line with its reason; anything else fails the run.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import anyio
from starlette.applications import Starlette

from sayso.core.clock import SystemClock
from sayso.core.gcra import Limit
from sayso.gateway.doors.mcp.endpoint import MESSAGE_PATH, McpDoor, routes
from sayso.gateway.guard.rules.limits import Limits
from sayso.gateway.proxy import signing_proxy
from sayso.net.listen import serving
from sayso.testing.gateway import open_gateway
from sayso.testing.mcp_fixture_tools import WRITERS, FixtureSurface, register_fixtures

__all__ = ("REVISIONS", "run_suite")

REVISIONS = ("2025-11-25", "2026-07-28")
_OFTEN = Limit(timedelta(minutes=1), 100_000)
_EXPECTED = Path("tests/conformance_mcp")


async def run_suite(packages: Path, revisions: Sequence[str]) -> int:
    """Runs the suite once for each revision; how many runs failed."""
    limits = Limits(minute=_OFTEN, second=_OFTEN, coarse=_OFTEN)
    with tempfile.TemporaryDirectory() as folder:
        async with open_gateway(Path(folder), clock=SystemClock(), register=register_fixtures, limits=limits) as bench:
            issued = await bench.issue("conformance")
            door = McpDoor(bench.gateway, surfaces=[FixtureSurface()], writers=WRITERS)
            app = Starlette(routes=routes(bench.gateway, door))
            async with (
                serving(app) as gateway,
                signing_proxy(gateway.url, issued.key) as proxy,
                serving(proxy) as loopback,
            ):
                failed = [each for each in revisions if await _run(packages, each, loopback.url + MESSAGE_PATH)]
    return len(failed)


async def _run(packages: Path, revision: str, url: str) -> int:
    found = packages / "node_modules" / ".bin"
    expected = _EXPECTED / f"expected-failures-{revision}.yaml"
    command = [
        str(found / "node"), str(found / "conformance"), "server", "--url", url, "--requirements", revision,
        "--expected-failures", str(expected), "--output-dir", str(packages / "results"),
    ]  # fmt: skip
    environment = {"PATH": os.pathsep.join((str(found), os.environ.get("PATH", ""))), "HOME": str(packages)}
    process = await anyio.run_process(command, env=environment, check=False, stdout=sys.stdout, stderr=sys.stderr)
    return process.returncode


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="sayso.testing.mcp_conformance")
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--revision", action="append", choices=REVISIONS)
    asked = parser.parse_args()
    sys.exit(anyio.run(run_suite, asked.packages, asked.revision or REVISIONS))


if __name__ == "__main__":
    main()
