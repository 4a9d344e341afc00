"""Which program a client of an endpoint starts: `sayso serve ... --stdio`, found as an operator would expect.

An explicit path wins, then `SAYSO_SDK_BINARY_PATH`, then PATH. The child sees the variables that are named and no
others (OAP-089).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from sayso.net.child import Program
from sayso.net.environment import child_environment

__all__ = ("BINARY_VARIABLE", "combined_program", "endpoint_program")

BINARY_VARIABLE = "SAYSO_SDK_BINARY_PATH"
_ENVIRONMENT = ("HOME", "PATH")
_OF_A_PERSON = (
    *_ENVIRONMENT,
    "DBUS_SESSION_BUS_ADDRESS",
    "PYTHON_KEYRING_BACKEND",
    "SAYSO_HOME",
    "SAYSO_MODEL",
    "SSL_CERT_FILE",
    "XDG_RUNTIME_DIR",
)
"""What a person's own `sayso` finds in a terminal, besides the variables the catalog names."""


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
    given = {"--backend": backend, "--config": config, "--home": home}
    called = f"sayso serve agent{f' --backend {backend}' if backend else ''}"
    return _program("agent", binary, given, environment, called)


def combined_program(
    *, binary: str | Path | None = None, home: Path | None = None, environment: Sequence[str] | None = None
) -> Program:
    """The built-in loop and the model providers on one pipe (OAP-200). Without `environment` the child sees what a
    person's own `sayso` would: where its home and keyring are, and the providers' variables of the catalog.
    """
    if environment is None:
        from sayso.control.provider.catalog.reading import read_catalog  # noqa: PLC0415 - for this default alone

        named = {
            name
            for row in read_catalog().providers
            for name in (*row.credential_env, *row.base_url_env, *filter(None, (row.region_env,)))
        }
        environment = (*_OF_A_PERSON, *sorted(named))
    return _program("agent,provider", binary, {"--home": home}, environment, "sayso serve agent,provider")


def _program(
    role: str, binary: str | Path | None, given: Mapping[str, object], environment: Sequence[str], called: str
) -> Program:
    program = str(binary or os.environ.get(BINARY_VARIABLE) or "sayso")
    options = [part for name, value in given.items() if value is not None for part in (name, str(value))]
    return Program(
        command=[program, "serve", role, "--stdio", *options],
        environment=child_environment(environment, os.environ),
        called=called,
    )
