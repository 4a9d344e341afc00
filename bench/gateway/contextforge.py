"""`mcp-contextforge-gateway` in an environment of its own, started with the settings that cost it least.

It is installed once into a folder and found there again. Its database is made anew for each run. Left at their defaults
are tokens, roles and its buffered metrics; switched off are its pages and its rates; its log is errors only. It refuses
to start on weak secrets, so each run has random ones. Version 1.1 needs Python 3.12 or 3.13.

For each call it makes an HTTP client of its own, and with it reads the machine's whole certificate store, which takes
most of the call. `QUICKEST` keeps that from happening: the endpoint behind it is plain HTTP, so nothing is lost.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bench.gateway.calls import Target, bearer
from bench.gateway.servers import Running

VERSION = "1.1.0"
PACKAGE = f"mcp-contextforge-gateway=={VERSION}"
_INTERPRETERS = ("python3.12", "python3.13")
_ADMIN = "bench@example.com"
_STARTS_WITHIN = 120.0
_LEAST = {
    "LOG_LEVEL": "ERROR",
    "MCPGATEWAY_UI_ENABLED": "false",
    "CACHE_TYPE": "memory",
    "REQUIRE_USER_IN_DB": "false",
    "SSRF_ALLOW_LOCALHOST": "true",
    "SSRF_ALLOW_PRIVATE_NETWORKS": "true",
    "RATE_LIMITING_ENABLED": "false",
    "TOOL_RATE_LIMIT": "1000000",
    "PYTHONWARNINGS": "ignore",
}
QUICKEST = {"SKIP_SSL_VERIFY": "true", "SSRF_PROTECTION_ENABLED": "false"}


class NotHere(Exception):
    """It cannot be measured on this machine, and why."""


def install(cache: Path, python: str | None = None) -> Path:
    """The folder of its programs, made where it is not there yet. NotHere: no interpreter, or it does not install."""
    programs = cache / "bin"
    if (programs / "mcpgateway").exists():
        return programs
    program = python or next((name for name in _INTERPRETERS if _runs(name)), None)
    if program is None:
        raise NotHere("it needs Python 3.12 or 3.13; name one with --python")
    try:
        subprocess.run([program, "-m", "venv", str(cache)], check=True, capture_output=True)
        pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE]
        subprocess.run(pip, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        shutil.rmtree(cache, ignore_errors=True)
        raise NotHere(f"it did not install: {str(error.stderr).strip().splitlines()[-1:]}") from error
    return programs


def _runs(name: str) -> bool:
    found = shutil.which(name)
    return found is not None and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0


@contextmanager
def contextforge(
    programs: Path, folder: Path, upstream: Running, settings: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Running]:
    """It, with the endpoint `upstream` behind it as its one tool."""
    port = _free_port()
    secret = f"k{secrets.token_urlsafe(32)}"  # never begins with a dash, since it is an argument below
    database = {"DATABASE_URL": f"sqlite:///{folder / 'contextforge.db'}"}
    environ = {**os.environ, **_LEAST, **_secrets(secret), **database, **settings}
    listening = ["--host", "127.0.0.1", "--port", str(port), "--loop", "uvloop", "--http", "httptools"]
    with (folder / "contextforge.log").open("wb") as log:
        process = subprocess.Popen(
            [str(programs / "mcpgateway"), *listening, "--log-level", "error", "--no-access-log"],
            stdout=log,
            stderr=log,
            env=environ,
            cwd=folder,
            start_new_session=True,
        )
        try:
            _wait(process, port, folder / "contextforge.log")
            token = _token(programs, secret, environ)
            tool = _tool(upstream.target)
            _ask(port, "/tools", token, {"tool": tool, "team_id": None})
            sign = bearer(token)
            yield Running(Target(port, "/mcp/", (sign,)), [process, *upstream.processes])
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # it has children of its own
            process.wait()


def _secrets(secret: str) -> dict[str, str]:
    names = ("PLATFORM_ADMIN_PASSWORD", "BASIC_AUTH_PASSWORD", "DEFAULT_USER_PASSWORD")
    made = {name: f"Aa1!{secrets.token_urlsafe(24)}" for name in names}
    return {
        **made,
        "JWT_SECRET_KEY": secret,
        "AUTH_ENCRYPTION_SECRET": secrets.token_urlsafe(32),
        "PLATFORM_ADMIN_EMAIL": _ADMIN,
    }


def _wait(process: subprocess.Popen[Any], port: int, log: Path) -> None:
    until = time.monotonic() + _STARTS_WITHIN
    while time.monotonic() < until:
        if process.poll() is not None:
            raise NotHere(f"it did not start: {log.read_text(errors='replace').strip().splitlines()[-1:]}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    raise NotHere(f"it did not answer within {_STARTS_WITHIN:.0f} s")


def _token(programs: Path, secret: str, environ: dict[str, str]) -> str:
    command = ["-m", "mcpgateway.utils.create_jwt_token", "--username", _ADMIN, "--admin", "--full-name", "Bench"]
    made = subprocess.run(
        [str(programs / "python"), *command, "--exp", "600", "--secret", secret],
        check=True,
        capture_output=True,
        text=True,
        env=environ,
    ).stdout.split()
    token = made[-1]
    base64.urlsafe_b64decode(token.split(".")[0] + "==")
    return token


def _tool(upstream: Target) -> dict[str, Any]:
    return {
        "name": "echo",
        "url": f"http://127.0.0.1:{upstream.port}{upstream.path}",
        "description": "Says it again.",
        "integration_type": "REST",
        "request_type": "POST",
        "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    }


def _ask(port: int, path: str, token: str, body: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(asked, timeout=30):
        pass


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
