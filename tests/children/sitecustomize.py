"""What holds in every process a test starts: no socket beyond loopback, and the deliberate break under trial.

Python imports this at start-up, because tests put its folder on PYTHONPATH.
"""

import os
import sys


def _guard(event: str, arguments: tuple[object, ...]) -> None:
    if event not in ("socket.connect", "socket.sendto", "socket.bind"):
        return
    address = arguments[1]
    if isinstance(address, tuple) and address and isinstance(address[0], str):
        host = address[0]
        if not (host.startswith("127.") or host in ("::1", "localhost", "")):
            raise AssertionError(f"{event} to {address!r}: tests stay on loopback")


sys.addaudithook(_guard)

for _entry in sys.path:
    if os.path.basename(_entry).startswith("break="):
        os.environ.setdefault("SAYSO_TEST_BREAK", _entry.partition("break=")[2])

if os.environ.get("SAYSO_TEST_BREAK") and __name__ == "sitecustomize":
    from pathlib import Path

    from sayso.testing.breaks import apply_from_environment

    apply_from_environment(Path(__file__).resolve().parents[2])
