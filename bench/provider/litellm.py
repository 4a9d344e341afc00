"""LiteLLM's proxy in an environment of its own, started with the settings that cost it least.

It is installed once into a folder and found there again. It is not asked for a key, keeps nothing, calls nobody back,
and takes its price list from its own package instead of the network.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.provider.load import Question
from bench.provider.servers import Running, Vendor, chat_body

VERSION = "1.108.7"
PACKAGE = f"litellm[proxy]=={VERSION}"
CACHE = Path(__file__).parents[2] / "build" / "bench" / "litellm"
_INSTALLS_WITHIN = 600.0
_STARTS_WITHIN = 120.0
_LEAST = {
    "LITELLM_LOG": "ERROR",
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "DISABLE_ADMIN_UI": "True",
    "NO_DOCS": "True",
    "PYTHONWARNINGS": "ignore",
}
_CONFIG = """
model_list:
  - model_name: fixture
    litellm_params:
      model: openai/fixture
      api_base: {base_url}
      api_key: {key}
litellm_settings:
  telemetry: false
  num_retries: 0
  set_verbose: false
general_settings:
  dangerously_permit_weak_or_unset_master_key: true
"""


class NotHere(Exception):
    """It cannot be measured on this machine, and why."""


def install(cache: Path = CACHE) -> Path:
    """The folder of its programs, made where it is not there yet. NotHere: it does not install."""
    programs = cache / "bin"
    if (programs / "litellm").exists():
        return programs
    print(f"installing {PACKAGE} into an environment of its own (a minute or two the first time)", flush=True)
    try:
        subprocess.run([sys.executable, "-m", "venv", str(cache)], check=True, capture_output=True)
        pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE]
        subprocess.run(pip, check=True, capture_output=True, text=True, timeout=_INSTALLS_WITHIN)
    except subprocess.CalledProcessError as error:
        shutil.rmtree(cache, ignore_errors=True)
        raise NotHere(f"it did not install: {str(error.stderr).strip().splitlines()[-1:]}") from error
    except subprocess.TimeoutExpired as error:
        shutil.rmtree(cache, ignore_errors=True)
        raise NotHere(f"it did not install within {_INSTALLS_WITHIN:.0f} s") from error
    return programs


@contextmanager
def litellm(programs: Path, folder: Path, asked: Vendor) -> Iterator[Running]:
    """It, with the vendor's model behind it."""
    port = _free_port()
    config, log = folder / "litellm.yaml", folder / "litellm.log"
    config.write_text(_CONFIG.format(base_url=asked.base_url, key=asked.key), encoding="utf-8")
    command = [str(programs / "litellm"), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--num_workers", "1"],
            stdout=output,
            stderr=output,
            env={**os.environ, **_LEAST},
            cwd=folder,
            start_new_session=True,
        )
        try:
            _wait(process, port, log)
            yield Running(Question(port, "/v1/chat/completions", chat_body(), b"[DONE]"), process)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # it has children of its own
            process.wait()


def _wait(process: subprocess.Popen[Any], port: int, log: Path) -> None:
    until = time.monotonic() + _STARTS_WITHIN
    while time.monotonic() < until:
        if process.poll() is not None:
            raise NotHere(f"it did not start: {log.read_text(errors='replace').strip().splitlines()[-1:]}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/liveliness", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    raise NotHere(f"it did not answer within {_STARTS_WITHIN:.0f} s")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
