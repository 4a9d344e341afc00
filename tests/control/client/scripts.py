"""Endpoints that say what a script does and write down what they hear: for what an honest one never does."""

from __future__ import annotations

import sys
from pathlib import Path

from sayso.net.child import Program

__all__ = ("DYING", "FLOODING", "SIGNING", "TOOLLESS", "scripted")


def scripted(folder: Path, body: str) -> Program:
    """Starts `body`; what it hears stands in `heard`, a line each."""
    path, heard = folder / "endpoint.py", folder / "heard"
    path.write_text(HEAD + body)
    heard.touch()
    return Program(command=[sys.executable, str(path), str(heard)], environment={"PATH": "/usr/bin"}, called="scripted")


HEAD = """
import json, sys
AGENT, PROVIDER = "open-agent-protocol.agent-control-core", "open-agent-protocol.model-provider-core"
count = 0
def say(type_, payload, profile=AGENT, **more):
    global count
    count += 1
    head = {"protocol": "open-agent-protocol", "version": "0.1", "profile": profile, "type": type_, "id": f"e{count}"}
    print(json.dumps({**head, "payload": payload, **more}), flush=True)
def requests():
    for line in sys.stdin:
        asked = json.loads(line)
        with open(sys.argv[1], "a") as heard:
            heard.write(line)
        if asked["type"] == "protocol.initialize.request":
            say("protocol.initialize.response", {"protocol_version": "0.1", "profile": AGENT,
                "endpoint": {"id": "agent", "name": "x", "adapter": "x"}}, in_reply_to=asked["id"])
        else:
            yield asked
"""
TOOLLESS = """
for asked in requests():
    found = {"endpoint": {"id": "agent", "name": "x", "adapter": "x"}, "profiles": [AGENT], "features": {}}
    say("capabilities.response", {**found, "protocol_versions": ["0.1"]},
        in_reply_to=asked["id"], capability_revision="r1")
"""
DYING = """
for asked in requests():
    sys.exit(3)
"""
SIGNING = """
signed = False
def login(asked):
    global signed
    name = asked["payload"]["provider_id"]
    flow = {"flow_id": f"f-{asked['id']}", "provider_id": name}
    say("auth.login.start.response", {"flow_id": flow["flow_id"]}, in_reply_to=asked["id"])
    if name == "typed":
        error = {"code": "auth_input_unavailable", "message": "it wants something typed"}
        say("auth.login.completed", {**flow, "status": "failed", "error": error}, sequence=1)
        return
    signed = True
    say("auth.login.event", {**flow, "kind": "url", "url": "https://vendor.example/device"}, sequence=1)
    say("auth.login.completed", {**flow, "status": "success"}, sequence=2)
def infer(asked):
    model = asked["payload"]["model_ref"].partition("/")[2]
    name = f"i-{asked['id']}"
    def refuse(code):
        say("inference.create.response", {"accepted": False, "error": {"code": code, "message": "no"}}, PROVIDER,
            in_reply_to=asked["id"])
    def tell(sequence, type_, payload):
        say(type_, payload, PROVIDER, inference_id=name, sequence=sequence)
    if model == "busy":
        return refuse("rate_limited")
    if model == "never" or (model == "signed" and not signed):
        return refuse("credential_missing")
    say("inference.create.response", {"accepted": True, "honoured": {"include_snapshot": "never"}}, PROVIDER,
        in_reply_to=asked["id"], inference_id=name)
    tell(1, "inference.started", {"model_ref": asked["payload"]["model_ref"]})
    expired = {"error": {"code": "credential_expired", "message": "no"}}
    if model == "expired" and not signed:
        return tell(2, "inference.failed", expired)
    tell(2, "inference.part.started", {"part_index": 0, "part_kind": "text"})
    tell(3, "inference.part.ended", {"part_index": 0, "part_kind": "text", "text": "hi"})
    if model == "late":
        return tell(4, "inference.failed", expired)
    message = {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}
    tell(4, "inference.completed", {"message": message, "stop_reason": "stop"})
def run(asked):
    session, name = asked["session_id"], f"r-{asked['id']}"
    scope = {"session_id": session, "run_id": name}
    def tell(sequence, type_, payload):
        say(type_, {**scope, **payload}, sequence=sequence, **scope)
    say("session.message.submit.response", {**scope, "accepted": True, "submission_id": "x", "admission": "started",
        "requested_delivery": "auto", "effective_delivery": "start"}, in_reply_to=asked["id"], **scope)
    tell(1, "run.started", {"status": "running"})
    if asked["payload"]["model_id"] == "vendor/signed" and signed:
        tell(2, "run.completed", {"stop_reason": "end_turn", "final_response": {"role": "assistant", "content": "hi"}})
        return
    code = "rate_limited" if asked["payload"]["model_id"] == "vendor/busy" else "credential_missing"
    tell(2, "run.failed", {"error": {"code": code, "message": "no"}})
for asked in requests():
    if asked["type"] == "session.open.request":
        say("session.open.response", {"session_id": "s", "status": "idle"}, in_reply_to=asked["id"], session_id="s")
    elif asked["type"] == "session.message.submit.request":
        run(asked)
    elif asked["type"] == "auth.login.start.request":
        login(asked)
    elif asked["type"] == "auth.providers.request":
        say("auth.providers.response", {"providers": [{"id": "vendor", "name": "Vendor", "auth_kinds": ["oauth"],
            "auth_status": "login_required"}]}, in_reply_to=asked["id"])
    elif asked["type"] == "inference.create.request":
        infer(asked)
"""
FLOODING = SIGNING.replace(
    "    signed = True\n",
    """    signed = True
    for number in range(500):
        other = {"flow_id": f"x-{asked['id']}-{number}", "provider_id": name, "kind": "progress", "message": "m"}
        say("auth.login.event", other, sequence=1)
""",
)
