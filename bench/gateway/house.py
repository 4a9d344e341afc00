"""Our gateway, opened as a house opens it, with one act to call and agents that may."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette

from sayso.apps.gateway_settings import read_limits
from sayso.core.clock import SystemClock
from sayso.gateway.guard.watch import Watch
from sayso.testing.gateway import open_gateway


@asynccontextmanager
async def open_house(folder: Path, *, agents: int, watch: Watch | None) -> AsyncIterator[tuple[Any, list[str]]]:
    """The MCP door as an application on a fresh database in `folder`, and the keys of so many agents."""
    from sayso.gateway.doors.mcp.endpoint import McpDoor, routes

    async with open_gateway(folder, clock=SystemClock(), limits=read_limits(os.environ), watch=watch) as house:
        keys = [(await house.issue(f"agent {number}")).key for number in range(agents)]
        yield Starlette(routes=routes(house.gateway, McpDoor(house.gateway))), keys
