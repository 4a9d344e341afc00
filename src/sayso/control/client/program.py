"""Which program a client of an endpoint starts: `sayso serve agent --stdio`, found as an operator would expect.

An explicit path wins, then `SAYSO_SDK_BINARY_PATH`, then PATH. The child sees the variables that are named and no
others (OAP-089).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sayso.net.child import Program
from sayso.net.environment import child_environment

__all__ = ("BINARY_VARIABLE", "endpoint_program")

BINARY_VARIABLE = "SAYSO_SDK_BINARY_PATH"
_ENVIRONMENT = ("HOME", "PATH")


def endpoint_program(
    backend: str | None = None,
    *,
    binary: str | Path | None = None,
    config: Path | None = None,
    home: Path | None = None,
    environment: Sequence[str] = _ENVIRONMENT,
) -> Program:
    """The endpoint for `backend`, or for the built-in loop. `environment` lists NAME or NAME=value.

    Raises `Refused` `environment_not_valid`.
    """
    program = str(binary or os.environ.get(BINARY_VARIABLE) or "sayso")
    given = {"--backend": backend, "--config": config, "--home": home}
    options = [part for name, value in given.items() if value is not None for part in (name, str(value))]
    return Program(
        command=[program, "serve", "agent", "--stdio", *options],
        environment=child_environment(environment, os.environ),
        called=f"sayso serve agent{f' --backend {backend}' if backend else ''}",
    )
