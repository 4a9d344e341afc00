"""`sayso serve provider`, `serve agent` over a remote service and `serve agent,provider` as real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sayso.control.provider.bindings.service_address import PATH, SECURITY_VARIABLE, URL_VARIABLE
from sayso.control.provider.planner.provider import MODEL
from sayso.control.validator.judging import judge
from sayso.testing.vendor_servers import Said
from sayso.testing.vendor_servers.server import KEY
from tests.control.client.combined import standing
from tests.control.provider.bindings.pipes import inferences
from tests.control.provider.service.vendors import TURN, ask, describe_request, models_request, to_lines
from tests.control.provider.wires.bench import ALL
from tests.control.wire import opens, request, submits, wire

PATIENCE = 60
Line = dict[str, Any]


def command(*arguments: str, home: Path) -> list[str]:
    return [sys.executable, "-m", "sayso", *arguments, "--home", str(home)]


def environment(more: Mapping[str, str]) -> dict[str, str]:
    seen = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "SAYSO_TEST_BREAK")}
    return {**seen, **more}


def run(*arguments: str, home: Path, given: bytes = b"", **environ: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command(*arguments, home=home),
        input=given,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        env=environment(environ),
    )


@contextmanager
def listening(home: Path, environ: Mapping[str, str]) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A provider service over HTTP; its URL, without the path."""
    process = subprocess.Popen(
        command("serve", "provider", "--http", "127.0.0.1:0", home=home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(environ),
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline().strip()
        assert said.startswith("provider: http://127.0.0.1:")
        assert said.endswith(PATH)
        yield said.removeprefix("provider: ").removesuffix(PATH), process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def lines(output: bytes) -> list[Line]:
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.req("OAP-135", "OAP-214")
def test_a_host_that_sends_and_closes_gets_every_terminal(name: str, tmp_path: Path) -> None:
    """Three inferences and two questions in one breath; exit 0, and our validator finds nothing."""
    with standing(name, [TURN, TURN, TURN]) as (environ, ref):
        requests = [ask(ref, name=f"q{number}") for number in range(3)]
        asked = to_lines([*requests, describe_request(), models_request()])
        done = run("serve", "provider", "--stdio", home=tmp_path, given=asked, **environ)
    assert (done.returncode, done.stderr) == (0, b"")
    heard = lines(done.stdout)
    assert {own[-1].type for own in inferences(heard, *requests).values()} == {"inference.completed"}
    assert judge(asked + done.stdout, profile="model-provider-core").diagnostics == ()
    assert KEY not in done.stdout.decode()


@pytest.mark.req("OAP-135", "OAP-214")
def test_a_line_that_cannot_be_classed_exits_1_and_settles_what_was_accepted(tmp_path: Path) -> None:
    """One sentence on standard error names it."""
    request_ = ask(MODEL)
    done = run("serve", "provider", home=tmp_path, given=to_lines([request_]) + b"[]\n")
    assert done.returncode == 1
    assert done.stderr == b"a malformed line: line 2: it is no JSON object\n"
    assert inferences(lines(done.stdout), request_)


@pytest.mark.req("OAP-135")
def test_specimens_are_printed_and_our_validator_takes_them(tmp_path: Path) -> None:
    """A line each, exit 0; `sayso validate` reads them as a trace."""
    done = run("serve", "provider", "--specimens", home=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len({line["type"] for line in lines(done.stdout)}) == len(lines(done.stdout)) == 11
    assert judge(done.stdout, profile="model-provider-core").diagnostics == ()


@pytest.mark.req("OAP-136", "OAP-214")
def test_the_service_over_http_answers_and_ends_with_a_signal(tmp_path: Path) -> None:
    """Its one line says where; exit 0."""
    with listening(tmp_path, {}) as (url, process):
        body = to_lines([models_request("sayso-offline")])
        asked = urllib.request.Request(f"{url}{PATH}", body, {"content-type": "application/json"})
        with urllib.request.urlopen(asked, timeout=PATIENCE) as response:
            answer = json.loads(response.read())
        process.send_signal(signal.SIGTERM)
        rest = process.communicate(timeout=PATIENCE)
    assert [model["model_ref"] for model in answer["payload"]["models"]] == [MODEL]
    assert (process.returncode, rest) == (0, ("", ""))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.req("OAP-138", "OAP-139")
def test_an_agent_reaches_its_model_through_a_remote_service(name: str, tmp_path: Path) -> None:
    """The agent has no credential and the service has; the vendor is asked once for each of two turns."""
    (far := tmp_path / "far").mkdir(mode=0o700)
    (near := tmp_path / "near").mkdir(mode=0o700)
    with standing(name, [Said([*TURN.steps[:2]])]) as (environ, ref), listening(far, environ) as (url, _):
        remote = {URL_VARIABLE: url, SECURITY_VARIABLE: "loopback", "SAYSO_MODEL": ref}
        told = _one_run(near, remote)
    completed = told[-1]["payload"]
    assert told[-1]["type"] == "run.completed"
    assert "let me look" in json.dumps(completed["final_response"])
    assert not list(near.glob("auth*"))


@pytest.mark.req("OAP-138")
def test_without_a_named_model_the_services_own_is_asked(tmp_path: Path) -> None:
    """A service that has the offline planner alone gives that."""
    (far := tmp_path / "far").mkdir(mode=0o700)
    (near := tmp_path / "near").mkdir(mode=0o700)
    with listening(far, {}) as (url, _):
        told = _one_run(near, {URL_VARIABLE: url, SECURITY_VARIABLE: "loopback"})
    assert told[-1]["type"] == "run.completed"


@pytest.mark.req("OAP-085", "OAP-138", "OAP-214")
def test_a_loop_out_of_a_registry_document_asks_the_remote_service_too(tmp_path: Path) -> None:
    """Its entry needs no keys; and a document without that loop has nobody who would ask the service."""
    (far := tmp_path / "far").mkdir(mode=0o700)
    (near := tmp_path / "near").mkdir(mode=0o700)
    config = tmp_path / "registry.json"
    config.write_text('{"adapters": {"sayso": {}, "memory": {}}}')
    with listening(far, {}) as (url, _):
        remote = {URL_VARIABLE: url, SECURITY_VARIABLE: "loopback"}
        told = _one_run(near, remote, "--config", str(config))
        done = run("serve", "agent", "--stdio", "--backend", "memory", home=near, **remote)
    assert told[-1]["type"] == "run.completed"
    assert (done.returncode, done.stdout) == (3, b"")
    assert "no adapter that is offered here asks one" in " ".join(done.stderr.decode().split())


@pytest.mark.parametrize(
    ("role", "environ", "code", "said"),
    [
        ("agent", {URL_VARIABLE: "http://127.0.0.1:1"}, 2, f"{URL_VARIABLE} is set without {SECURITY_VARIABLE}"),
        ("agent", {SECURITY_VARIABLE: "tls"}, 2, f"{SECURITY_VARIABLE} is set without {URL_VARIABLE}"),
        ("agent", {URL_VARIABLE: "http://a.example", SECURITY_VARIABLE: "loopback"}, 2, "is not this machine"),
        ("agent", {URL_VARIABLE: "http://a.example", SECURITY_VARIABLE: "tls"}, 2, "tls goes with an https address"),
        ("agent", {URL_VARIABLE: "http://a.example", SECURITY_VARIABLE: "trust"}, 2, "loopback, tls, mesh_proxy"),
        ("agent", {URL_VARIABLE: "http://127.0.0.1:1", SECURITY_VARIABLE: "loopback"}, 3, "could not be reached"),
        ("agent,provider", {URL_VARIABLE: "http://127.0.0.1:1", SECURITY_VARIABLE: "loopback"}, 2, "not with agent,"),
        ("agent,provider", {SECURITY_VARIABLE: "tls"}, 2, "not with agent,provider"),
    ],
)
@pytest.mark.req("OAP-138", "OAP-139", "OAP-214")
def test_a_remote_service_that_cannot_be_is_said_before_anything_is_served(
    role: str, environ: dict[str, str], code: int, said: str, tmp_path: Path
) -> None:
    """Called wrongly is 2; a service that is not there is 3; standard output stays empty."""
    done = run("serve", role, "--stdio", home=tmp_path, **environ)
    assert (done.returncode, done.stdout) == (code, b""), done.stderr
    assert said in " ".join(done.stderr.decode().split())


@pytest.mark.req("OAP-137")
def test_both_profiles_are_served_on_one_pipe_and_kept_apart(tmp_path: Path) -> None:
    """Each line goes where its profile says, whatever its type looks like; one of neither is answered, not fatal."""
    create = json.loads(to_lines([ask(MODEL)]))
    agent = wire(request("capabilities.request", {}))
    crossed = {**create, "id": "x1", "profile": agent["profile"]}
    nobody = {**create, "id": "x2", "profile": "open-agent-protocol.nobody"}
    sent = [create, {**agent, "id": "q1"}, crossed, nobody]
    given = b"".join(json.dumps(line).encode() + b"\n" for line in sent)
    done = run("serve", "provider,agent", "--stdio", home=tmp_path, given=given)
    assert (done.returncode, done.stderr) == (0, b"")
    heard = lines(done.stdout)
    answered = [line for line in heard if "in_reply_to" in line]
    answers = {(line["profile"].rpartition(".")[2], line["in_reply_to"]): line for line in answered}
    assert answers["model-provider-core", "q1"]["payload"]["accepted"] is True
    assert answers["agent-control-core", "q1"]["type"] == "capabilities.response"
    assert answers["agent-control-core", "x1"]["payload"]["error"]["code"] == "schema_invalid"
    refused = answers["agent-control-core", "x2"]["payload"]["error"]
    assert (refused["code"], refused["details"]) == ("invalid_request", {"feature": "profile"})
    assert [line["type"] for line in heard].count("inference.completed") == 1


def _one_run(home: Path, environ: Mapping[str, str], *options: str) -> list[Line]:
    """An agent over pipes: one session, one run, to its terminal and a clean end."""
    process = subprocess.Popen(
        command("serve", "agent", "--stdio", *options, home=home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(environ),
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in (opens("s1"), submits("s1", "hello")):
            process.stdin.write(json.dumps(wire(line)) + "\n")
        process.stdin.flush()
        told: list[Line] = []
        while not told or told[-1]["type"] not in ("run.completed", "run.failed", "run.cancelled"):
            read = process.stdout.readline()
            assert read, process.stderr.read() if process.stderr else ""
            told.append(json.loads(read))
        _, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, errors) == (0, "")
        return told
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
