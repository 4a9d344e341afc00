"""Endpoints that break one promise each: what conformance has to find (OAP-199).

`python -m sayso.testing.broken_endpoints NAME` is the endpoint, over standard input and output; the kinds of `HONEST`
break none. `BROKEN` says of each other which check has to fail, and where that is the trace, with which diagnostic.
"""

from __future__ import annotations

import sys

from sayso.testing import broken_promises, broken_runs
from sayso.testing.breaking import BROKEN, Broken
from sayso.testing.honest_endpoints import HONEST
from sayso.testing.toy_endpoint import Toy, serve

__all__ = ("BROKEN", "KINDS", "Broken", "main")

KINDS = (broken_runs, broken_promises)
"""Where the kinds stand; importing them registers each."""


def main(arguments: list[str]) -> int:
    """Serves the kind that is named."""
    name = arguments[0] if len(arguments) == 1 else ""
    kinds: dict[str, type[Toy]] = {**HONEST, **{each: broken.endpoint for each, broken in BROKEN.items()}}
    if name not in kinds:
        sys.stderr.write(f"one of: {', '.join(kinds)}\n")
        return 2
    return serve(kinds[name])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
