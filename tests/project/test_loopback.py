"""The suite reaches nothing beyond this machine's loopback, in any process."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

ELSEWHERE = ("192.0.2.1", 443)
TRIES = f"import socket; socket.socket().connect({ELSEWHERE!r})"


def test_a_test_that_reaches_out_fails() -> None:
    """An address set aside for documentation: nobody is there, and nobody is asked."""
    with socket.socket() as far, pytest.raises(AssertionError, match="tests stay on loopback"):
        far.connect(ELSEWHERE)


def test_a_process_that_a_test_starts_fails_as_well() -> None:
    """The rule is not the test runner's alone."""
    done = subprocess.run([sys.executable, "-c", TRIES], capture_output=True, text=True, check=False)
    assert (done.returncode, "tests stay on loopback" in done.stderr) == (1, True)
