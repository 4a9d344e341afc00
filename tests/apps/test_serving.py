"""What a process that serves does to itself, seen in a process of its own: it changes the whole process."""

from __future__ import annotations

import json
import subprocess
import sys

from sayso.apps.serving import COLLECTED_AFTER

_PROGRAM = """
import asyncio, gc, json
from sayso.apps.serving import run_server, settle_in

async def serve():
    loop = type(asyncio.get_running_loop()).__module__
    settle_in()
    print(json.dumps([loop, gc.isenabled(), gc.get_threshold(), gc.get_freeze_count() > 1_000]))

run_server(serve)
"""


def test_a_server_runs_on_uvloop_and_its_collector_leaves_alone_what_was_loaded() -> None:
    """The collector goes on: what a request leaves behind is still found, only not by walking every module for it."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["uvloop", True, list(COLLECTED_AFTER), True]
