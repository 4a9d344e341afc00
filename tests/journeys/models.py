"""A scripted model on a port of its own, in a process of its own, as a vendor would be."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sayso.core import strictjson
from tests.journeys.house import environment

__all__ = ("WIRES", "Model", "scripted_model")

WIRES = ("chat", "responses", "messages", "generate")


@dataclass(frozen=True)
class Model:
    """`environ` leads a catalogued provider there, with its key."""

    base_url: str
    name: str
    ref: str
    environ: Mapping[str, str]


@contextmanager
def scripted_model(wire: str, script: str, *more: str) -> Iterator[Model]:
    """Serves until the block ends."""
    command = [sys.executable, "-m", "sayso.testing.vendor_servers", "--wire", wire, "--script", script, *more]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment())
    assert server.stdout is not None
    try:
        told = strictjson.parse(server.stdout.readline())
        assert isinstance(told, dict)
        yield Model(told["base_url"], told["model"], told["model_ref"], told["environ"])
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()
