"""One scripted model on a port of this machine, until it is told to stop.

    python -m sayso.testing.vendor_servers --wire messages --script tool_turn --port-file F

The port file holds the port, written whole once it answers; the line on standard output is a JSON object with
`base_url`, `key`, `model`, `model_ref` and `environ`, the variables that move a catalogued provider here.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio

from sayso.core import strictjson
from sayso.testing.vendor_servers.scripts import SCRIPTS
from sayso.testing.vendor_servers.serving import SHORT_NAMES, Served, serve_model

__all__ = ("main",)


def main(arguments: Sequence[str]) -> int:
    """Serves until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m sayso.testing.vendor_servers", description=__doc__.split("\n")[0])
    parser.add_argument("--wire", choices=sorted(SHORT_NAMES), required=True)
    parser.add_argument("--script", choices=sorted(SCRIPTS), default="tool_turn")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file", type=Path)
    parser.add_argument("--pace", type=float, default=0.0, metavar="SECONDS", help="time between two frames")
    parser.add_argument("--model", action="append", metavar="NAME", help="a model it lists; may be repeated")
    parser.add_argument("--open", action="store_true", help="ask for no credential")
    anyio.run(_serve, parser.parse_args(arguments))
    return 0


async def _serve(asked: argparse.Namespace) -> None:
    models = tuple(asked.model or ("fixture",))
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with serve_model(
            asked.wire, SCRIPTS[asked.script], port=asked.port, pace=asked.pace, models=models, is_open=asked.open
        ) as served:
            _tell(served, asked.port_file)
            async for _ in signals:
                return


def _tell(served: Served, port_file: Path | None) -> None:
    told = {
        "base_url": served.base_url,
        "key": served.key,
        "model": served.model,
        "model_ref": served.model_ref,
        "environ": served.environ,
    }
    sys.stdout.write(f"{strictjson.encode(told).decode()}\n")
    sys.stdout.flush()
    if port_file is not None:
        draft = port_file.with_name(f".{port_file.name}.draft")
        draft.write_text(f"{served.base_url.split(':')[2].split('/')[0]}\n", encoding="ascii")
        draft.replace(port_file)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
