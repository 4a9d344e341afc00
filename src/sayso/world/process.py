"""A running world for whoever needs one: the home's own if one already answers, else a child process for a while.

Whether one answers is asked of the world itself: each published address has to serve the discovery document of the
name it is published under, signed for with the key in this home. A stale file, or a stranger on the same port, is not
taken for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import msgspec

from sayso.core import strictjson
from sayso.core.refusal import PeerUnreachable, Refused
from sayso.net.child import Child, Program, spawn
from sayso.net.environment import child_environment
from sayso.net.fetch import Fetcher
from sayso.scheduling.host.config import HostConfig, host_name
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.operator import document_url
from sayso.store.vault import Vault
from sayso.world.hosts import HOSTS
from sayso.world.places import host_folder, ports_file
from sayso.world.timekeeping import open_clock

__all__ = ("ServedWorld", "find_world", "running_world")

_PASSED_ON = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LANG", "LC_ALL", "TZDIR", "SAYSO_DEBUG")
_PORTS_BYTES = 65_536
_PATIENCE = 60.0
"""Seconds that somebody else's world may take to start: it is known to be starting, on a machine that may be busy."""
_BETWEEN_LOOKS = 0.2


class ServedWorld(msgspec.Struct, frozen=True, kw_only=True):
    """Where the hosts of a world answer: name to loopback address, as `Fetcher` takes it. `is_ours` when this process
    started it and will end it.
    """

    resolve: Mapping[str, str]
    is_ours: bool


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """The one line that `sayso world serve --json` prints when every host answers."""

    ready: bool
    ports: dict[str, str]


@asynccontextmanager
async def running_world(home: Path) -> AsyncIterator[ServedWorld]:
    """The world of a home, running for at least the length of the block.

    Refused: `cannot_start`. PeerUnreachable: the child ended, or said something else, before it was ready.
    """
    open_clock(home)
    found = await find_world(home)
    if found is not None:
        yield ServedWorld(resolve=found, is_ours=False)
        return
    command = (
        sys.executable,
        "-m",
        "sayso.apps.cli.main",
        "world",
        "serve",
        "--home",
        str(home),
        "--json",
        "--until-eof",
    )
    program = Program(command=command, environment=child_environment(_PASSED_ON, os.environ), called="the sample world")
    async with spawn(program) as child:
        ports = await _ready(child)
        yield ServedWorld(resolve=ports or await _somebody_elses(home, child), is_ours=ports is not None)


async def _somebody_elses(home: Path, child: Child) -> Mapping[str, str]:
    """Two processes may start one world at the same moment: one of them serves it, the other finds it serving."""
    with anyio.move_on_after(_PATIENCE):
        while True:
            found = await find_world(home)
            if found is not None:
                return found
            await anyio.sleep(_BETWEEN_LOOKS)
    raise _did_not_start(child)


def _did_not_start(child: Child) -> PeerUnreachable:
    return PeerUnreachable(child.name, f"it did not start: {child.stderr_tail.strip()[-500:]}")


async def _ready(child: Child) -> Mapping[str, str] | None:
    """The ports the child says it is ready at; None where another process serves this world, or is about to."""
    line = await child.read_line()
    if line is None:
        await child.ended()
        raise _did_not_start(child)
    try:
        said = strictjson.parse(line)
        failed = said.get("failed") if isinstance(said, dict) else None
        if failed is not None:
            await child.ended()
            if isinstance(failed, dict) and failed.get("code") == "world_is_running":
                return None
            raise _did_not_start(child)
        return strictjson.decode(line, Ready).ports
    except Refused as no:
        raise PeerUnreachable(child.name, "its first line is not the one that says it is ready") from no


async def find_world(home: Path) -> Mapping[str, str] | None:
    """The published map of a home's world, if every host of it answers there; else None."""
    try:
        with ports_file(home).open("rb") as file:
            ports = strictjson.decode(file.read(_PORTS_BYTES), dict[str, str])
        async with Fetcher(ports) as fetcher:
            for settings in HOSTS:
                config = settings()
                await _check(fetcher, config, Vault(host_folder(home, config.id), open_clock(home)))
    except (OSError, Refused, PeerUnreachable):
        return None
    return ports


async def _check(fetcher: Fetcher, config: HostConfig, vault: Vault) -> None:
    """That what answers under the name publishes this home's key. Refused or PeerUnreachable otherwise."""
    name = host_name(config)
    response = await fetcher.get(document_url(name, config.operator))
    document = strictjson.decode(response.body, Discovery)
    if vault.public("host").thumbprint not in {key.kid for key in document.keys}:
        raise PeerUnreachable(name, "somebody else answers there")
