"""`sayso serve` and `sayso hub` as real processes: both transports, the endpoint, and the ways to call them wrongly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sayso.control.hub.registry_loading import BACKENDS
from tests.control.hub.test_registry_document import EXAMPLE
from tests.control.wire import opens, request, submits, wire

SESSION = EXAMPLE.with_name("stdio-session.ndjson")
PATIENCE = 60
Line = dict[str, Any]


def command(*arguments: str, home: Path) -> list[str]:
    return [sys.executable, "-m", "sayso", *arguments, "--home", str(home)]


def run(*arguments: str, home: Path, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments, home=home), input=given, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@contextmanager
def running(*arguments: str, home: Path, **environ: str) -> Iterator[subprocess.Popen[str]]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command(*arguments, home=home), text=True, env={**os.environ, **environ}, **pipes)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def send(process: subprocess.Popen[str], line: Line) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(line) + "\n")
    process.stdin.flush()


def read(process: subprocess.Popen[str]) -> Line:
    assert process.stdout is not None
    found: Line = json.loads(process.stdout.readline())
    return found


def until(process: subprocess.Popen[str], what: str) -> Line:
    """The next line that is the answer to request `what`, or the event of this type."""
    while True:
        line = read(process)
        if line.get("envelope", line).get("type") == what or line.get("event") == what:
            return line
        if str(line.get("id")) == what and "ok" in line:
            return line


@pytest.mark.req("OAP-220", "OAP-115", "OAP-118", "OAP-119", "OAP-120")
def test_the_shipped_session_runs_against_the_installed_command(tmp_path: Path) -> None:
    """Each line of the host's half follows the answer or the question it needs; then a clean end."""
    gates = {9: "action.permission.requested", 10: "user.input.requested", 11: "run.completed", 12: "run.completed"}
    with running("serve", "--stdio", home=tmp_path) as process:
        for written in SESSION.read_text().splitlines():
            line = json.loads(written)
            if line["id"] in (9, 10, 11):
                until(process, gates[line["id"]])
            send(process, line)
            answer = until(process, str(line["id"]))
            assert answer["ok"], answer
            if line["op"] == "events" and "after" in line:
                assert until(process, "envelope")["sequence"] == line["after"] + 1
                until(process, "run.completed")
        assert [each["state"] for each in answer["result"]["sessions"]] == ["closed"]
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.close()
        process.stdin = None
        assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == "hub over stdio: memory\n"
    assert (tmp_path / "sessions.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.req("OAP-116", "OAP-125", "OAP-214")
def test_a_malformed_line_exits_1_with_one_diagnostic(tmp_path: Path) -> None:
    """And what came before it was answered."""
    done = run("serve", "--stdio", home=tmp_path, given='{"id":1,"op":"sessions"}\nnonsense\n')
    assert done.returncode == 1
    assert json.loads(done.stdout)["ok"]
    diagnostics = done.stderr.splitlines()[1:]
    assert len(diagnostics) == 1
    assert diagnostics[0].startswith("a malformed line: line 2: ")


@pytest.mark.req("OAP-125", "OAP-129", "OAP-114")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("role", [("serve", "--stdio"), ("serve", "agent", "--backend", "memory", "--stdio")])
def test_a_signal_is_a_clean_end(tmp_path: Path, role: tuple[str, ...], number: signal.Signals) -> None:
    """Over stdio as at the end of input."""
    with running(*role, home=tmp_path) as process:
        first = wire(request("capabilities.request", {})) if "agent" in role else {"id": 1, "op": "sessions"}
        send(process, first)
        read(process)
        process.send_signal(number)
        assert process.wait(PATIENCE) == 0


@pytest.mark.req("OAP-126", "OAP-129")
def test_the_endpoint_speaks_raw_envelopes_and_ends_with_its_input(tmp_path: Path) -> None:
    """Nothing but protocol is on its output."""
    asked = [request("capabilities.request", {}), opens("s1"), submits("s1")]
    given = "".join(json.dumps(wire(each)) + "\n" for each in asked)
    done = run("serve", "agent", "--backend", "memory", "--stdio", home=tmp_path, given=given)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert {line["in_reply_to"] for line in lines if "in_reply_to" in line} == {each.id for each in asked}
    broken = run("serve", "agent", "--backend", "memory", home=tmp_path, given="[1,2]\n")
    assert (broken.returncode, broken.stdout, len(broken.stderr.splitlines())) == (1, "", 1)


@pytest.mark.req("OAP-125")
def test_output_that_was_closed_exits_1(tmp_path: Path) -> None:
    """The host's own end is not reported as its bad input."""
    with running("serve", "--stdio", home=tmp_path) as process:
        process.stdout.close()  # type: ignore[union-attr]
        send(process, {"id": 1, "op": "adapters"})
        assert process.wait(PATIENCE) == 1
        process.stdout = None
        assert process.stderr is not None
        assert process.stderr.read().splitlines()[-1].startswith("the output could not be written")


@contextmanager
def hub(*arguments: str, home: Path, **environ: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with running(*arguments, "--addr", "127.0.0.1:0", home=home, **environ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("hub: http://127.0.0.1:")
        yield process, line.split()[1]


def get(url: str, **headers: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.mark.req("OAP-101", "OAP-085", "OAP-114")
@pytest.mark.parametrize("verb", ["serve", "hub"])
def test_without_a_config_the_hub_serves_the_reference_adapter_alone(tmp_path: Path, verb: str) -> None:
    """On a fresh home, under both names, and SIGTERM is a clean end."""
    with hub(verb, home=tmp_path / "new") as (process, url):
        status, listed = get(f"{url}/adapters")
        assert (status, [each["name"] for each in listed["adapters"]]) == (200, ["memory"])
        assert get(f"{url}/sessions/history") == (200, {"sessions": []})
        assert get(f"{url}/adapters", origin="https://evil.example")[0] == 403
        assert get(f"{url}/adapters", host="evil.example:6270")[0] == 403
        process.terminate()
        assert process.wait(PATIENCE) == 0


@pytest.mark.req("OAP-099", "OAP-081")
def test_a_killed_hub_leaves_its_history(tmp_path: Path) -> None:
    """SIGKILL ends every session and not the list of them."""
    history = ("--session-history", str(tmp_path / "kept.jsonl"))
    with hub("serve", *history, home=tmp_path) as (process, url):
        body = json.dumps(wire(opens("s1"))).encode()
        asked = urllib.request.Request(f"{url}/adapters/memory/sessions", body, {"content-type": "application/json"})
        urllib.request.urlopen(asked).close()
        process.kill()
        process.wait(PATIENCE)
    with hub("serve", *history, home=tmp_path) as (_, url):
        listed = get(f"{url}/sessions/history")[1]["sessions"]
        assert [(each["session_id"], each["state"]) for each in listed] == [("s1", "closed")]
        assert get(f"{url}/sessions/s1/state")[0] == 404


@pytest.mark.req("OAP-086", "OAP-004", "OAP-089", "OAP-220")
def test_the_shipped_registry_starts_and_shows_no_value(tmp_path: Path) -> None:
    """What this build lacks is listed with its reason; no secret is in any listing or log."""
    config = tmp_path / "registry.json"
    config.write_bytes(EXAMPLE.read_bytes())
    secret = {"FILES_TOKEN": "hunter2-files", "ANTHROPIC_API_KEY": "hunter2-key", "ISSUES_AUTHORIZATION": "hunter2-h"}
    with hub("serve", "--config", str(config), home=tmp_path, **secret) as (process, url):
        listed = {each["name"]: each.get("error") for each in get(f"{url}/adapters")[1]["adapters"]}
        assert [name for name, error in listed.items() if error is None] == ["memory", "sayso"]
        assert listed["codex"] == "the backend codex is not in this build"
        status, answer = get(f"{url}/adapters/codex/capabilities")
        assert (status, answer["payload"]["error"]["code"]) == (501, "unavailable")
        process.terminate()
        output = "".join(process.communicate(timeout=PATIENCE))
    assert "hunter2" not in json.dumps(listed) + output


@pytest.mark.req("OAP-088", "OAP-089", "OAP-214")
def test_an_entry_that_cannot_be_constructed_exits_3_and_names_itself(tmp_path: Path) -> None:
    """Nothing is served, over either transport, and standard output stays empty."""
    config = tmp_path / "registry.json"
    config.write_text(
        '{"adapters": {"memory": {}}, "tool_sources": {"fs": {"kind": "local", "environment": ["NO_ONE"]}}}'
    )
    for more in ((), ("--stdio",)):
        done = run("serve", "--config", str(config), *more, home=tmp_path)
        assert (done.returncode, done.stdout) == (3, "")
        assert "NO_ONE is not set (tool_sources.fs.environment)" in done.stderr


@pytest.mark.req("OAP-115", "OAP-214", "OAP-004")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("serve", "--stdio", "--addr", "127.0.0.1:0"), 2, "--stdio and --addr"),
        (("hub", "--stdio", "--addr", "127.0.0.1:0"), 2, "--stdio and --addr"),
        (("serve", "--backend", "memory"), 2, "--backend belongs to"),
        (("serve", "frontend"), 2, "the roles are agent, agent,provider, provider"),
        (("serve", "agent,agent", "--stdio"), 2, "the roles are agent, agent,provider, provider"),
        (("serve", "provider", "--backend", "memory"), 2, "--backend is an agent's"),
        (("serve", "provider", "--stdio", "--http", "127.0.0.1:0"), 2, "choose one"),
        (("serve", "provider", "--http", "0.0.0.0:8080"), 2, "a loopback address such as 127.0.0.1"),
        (("serve", "provider", "--http", "localhost:8080"), 2, "a loopback address such as 127.0.0.1"),
        (("serve", "provider", "--http", "8080"), 2, "write it as HOST:PORT"),
        (("serve", "agent,provider", "--http", "127.0.0.1:0"), 2, "--http belongs to `sayso serve provider`"),
        (("serve", "agent", "--specimens"), 2, "--specimens belongs to `sayso serve provider`"),
        (("serve", "--http", "127.0.0.1:0"), 2, "the hub listens at --addr"),
        (("serve", "agent", "--backend", "gemini"), 2, f"the backends are {', '.join(BACKENDS)}"),
        (("serve", "agent", "--backend", "Memory"), 2, "no backend is called Memory"),
        (("serve", "agent", "--backend", "codex"), 3, "the backend codex is not in this build"),
        (("serve", "agent", "--backend", "memory", "--addr", "127.0.0.1:1"), 2, "no --addr"),
        (("serve", "--addr", "6270"), 2, "write it as HOST:PORT"),
        (("serve", "--addr", "127.0.0.1:99999"), 2, "is no port"),
        (("serve", "--addr", "::1:6270"), 2, "in brackets"),
        (("serve", "--config", "/no/such/registry.json"), 3, "/no/such/registry.json"),
        (("serve", "--frobnicate"), 2, "--frobnicate"),
    ],
)
def test_a_wrong_call_says_what_is_known(tmp_path: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    """Called wrongly is 2, nothing to start with is 3; standard output stays empty."""
    done = run(*arguments, home=tmp_path)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert said.lower() in " ".join(done.stderr.lower().split())


@pytest.mark.req("OAP-101", "OAP-112")
def test_a_bind_to_the_outside_is_explicit_and_announced(tmp_path: Path) -> None:
    """B26: a warning says that nobody is asked who they are; a page in a browser is refused all the same."""
    with running("serve", "--addr", "127.0.0.2:0", home=tmp_path) as process:
        assert process.stdout is not None
        port = process.stdout.readline().rpartition(":")[2].strip()
        assert get(f"http://127.0.0.2:{port}/adapters", host="hub.example")[0] == 200
        assert get(f"http://127.0.0.2:{port}/adapters", origin="https://evil.example")[0] == 403
        process.terminate()
        assert "Warning: 127.0.0.2 is not loopback" in process.communicate(timeout=PATIENCE)[1]


@pytest.mark.req("OAP-165")
def test_the_endpoint_takes_the_entry_of_its_name(tmp_path: Path) -> None:
    """A document without it is told which is missing."""
    config = tmp_path / "registry.json"
    config.write_text('{"adapters": {"other": {"type": "memory"}}}')
    done = run("serve", "agent", "--backend", "memory", "--config", str(config), home=tmp_path)
    assert done.returncode == 3
    assert "no entry named memory (adapters.memory)" in done.stderr
    config.write_text('{"adapters": {"memory": {"journal_capacity": 8}}}')
    given = json.dumps(wire(request("capabilities.request", {}))) + "\n"
    done = run("serve", "agent", "--backend", "memory", "--config", str(config), home=tmp_path, given=given)
    assert (done.returncode, json.loads(done.stdout)["type"]) == (0, "capabilities.response")


@pytest.mark.req("OAP-125", "OAP-214")
@pytest.mark.parametrize("role", ["serve --stdio", "serve agent --backend memory"])
def test_a_closed_input_is_a_start_that_fails(tmp_path: Path, role: str) -> None:
    """Its number would be the next file's that is opened here."""
    shell = f"{sys.executable} -m sayso {role} --home {tmp_path} <&-"
    done = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert "standard input or output is closed" in done.stderr.lower()


@pytest.mark.req("OAP-127")
def test_a_line_of_an_endpoint_has_sixteen_mebibytes(tmp_path: Path) -> None:
    """One of exactly so many is answered; one byte more ends it, saying both sizes."""
    bound = 16 * 1024 * 1024
    head, end = '{"protocol": "x", "id": "a", "more": "', '"}'
    for surplus, exit_code in ((0, 0), (1, 1)):
        line = head + "a" * (bound + surplus - len(head) - len(end)) + end + "\n"
        done = run("serve", "agent", "--backend", "memory", home=tmp_path, given=line)
        assert (done.returncode, done.stdout.count("\n")) == (exit_code, 1 - exit_code)
    assert f"a line of {bound + 1} bytes is over the bound of {bound}" in done.stderr


@pytest.mark.req("OAP-125", "OAP-129")
@pytest.mark.parametrize("role", ["serve --stdio", "serve agent --backend memory"])
def test_a_closed_standard_error_costs_its_messages_alone(tmp_path: Path, role: str) -> None:
    """Its number would be the next file's that is opened here, and what is said would go there."""
    shell = f"{sys.executable} -m sayso {role} --home {tmp_path} 2>&- </dev/null"
    done = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (0, "")
