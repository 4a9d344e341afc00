"""What every `serve` command does around its work: signals, our own pipes, and how an end becomes an exit code."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from sayso.apps.cli.main import DONE, REFUSED

if TYPE_CHECKING:
    from sayso.control.hub.bindings.stdio import StdioEnd
    from sayso.net.ownpipes import LineInput, LineOutput

__all__ = ("own_output", "pipes", "read_address", "serve_to_end", "told", "verify_pipes")

_INPUT, _OUTPUT, _ERRORS = 0, 1, 2


def serve_to_end(serving: Callable[..., Awaitable[int]], *arguments: object) -> int:
    """Runs to the end of the work or the first signal, which ends it in order."""
    import importlib.util

    import anyio

    async def main() -> int:
        import asyncio
        import signal

        stop = anyio.Event()
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, stop.set)
        return await serving(stop, *arguments)

    return anyio.run(main, backend_options={"use_uvloop": importlib.util.find_spec("uvloop") is not None})


def read_address(option: str, addr: str, example: str) -> tuple[str, int]:
    """`HOST:PORT`, an IPv6 host in brackets. Raises a usage error that says which part is wrong."""
    host, colon, port = addr.rpartition(":")
    if not colon or not host:
        raise click.UsageError(f"{option} {addr}: write it as HOST:PORT, for example {example}")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise click.UsageError(f"{option} {addr}: an IPv6 address stands in brackets, [::1]:6270")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise click.UsageError(f"{option} {addr}: {port!r} is no port")
    return host.strip("[]"), int(port)


def verify_pipes() -> None:
    """A number that was closed would be taken by the next file that is opened here, and then read as the host."""
    from sayso.core.refusal import Refused

    if sys.stdin is None or sys.stdout is None:
        raise Refused.because("cannot_start", "standard input or output is closed, and a host speaks on both")


def own_output() -> int:
    """Standard output for the protocol alone: what anything else prints goes to standard error from now on."""
    import os

    ours = os.dup(_OUTPUT)
    os.dup2(_ERRORS, _OUTPUT)
    return ours


def pipes(output_descriptor: int, line_limit: int, queued_lines: int) -> tuple[LineInput, LineOutput]:
    """Our own ends, as lines."""
    from sayso.net.ownpipes import LineInput, LineOutput

    return LineInput(_INPUT, line_limit), LineOutput(output_descriptor, queued_lines)


def told(end: StdioEnd) -> int:
    """The exit code; what went wrong is one line on standard error."""
    if end.is_clean:
        return DONE
    click.echo(f"{end.ending.value}: {end.message}", err=True)
    return REFUSED
