"""Requests as a host writes them, independent of every client of ours."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from sayso.control.protocol.envelope import AGENT_PROFILE, PROTOCOL, VERSION, Envelope, convert_envelope, write_envelope

_number = count(1)


def request(type_: str, payload: dict[str, Any], **head: Any) -> Envelope[Any]:
    """An envelope with an id of its own; `session_id` and `run_id` of the payload stand outside too."""
    scope = {name: payload[name] for name in ("session_id", "run_id") if name in payload and "open" not in type_}
    base = {"protocol": PROTOCOL, "version": VERSION, "profile": AGENT_PROFILE, "type": type_}
    return convert_envelope({**base, "id": f"host-{next(_number)}", "payload": payload, **scope, **head})


def wire(envelope: Envelope[Any]) -> dict[str, Any]:
    """The envelope as JSON values."""
    found: dict[str, Any] = json.loads(write_envelope(envelope))
    return found


def opens(session_id: str, **payload: Any) -> Envelope[Any]:
    return request("session.open.request", {"session_id": session_id, **payload})


def submits(session_id: str, text: str = "go", **payload: Any) -> Envelope[Any]:
    messages = [{"role": "user", "content": text}]
    return request(
        "session.message.submit.request",
        {"session_id": session_id, "messages": messages, "delivery": "auto", **payload},
    )


def cancels(session_id: str, run_id: str) -> Envelope[Any]:
    return request("run.cancel.request", {"session_id": session_id, "run_id": run_id})


def grants(asked: dict[str, Any], *, granted: bool = True) -> Envelope[Any]:
    """The answer to a permission that was asked for, by its responder."""
    payload = asked["payload"]
    choices = payload.get("choices") or [{"id": "yes"}, {"id": "no"}]
    return request(
        "action.permission.resolve.request",
        {
            **{name: payload[name] for name in ("session_id", "run_id", "interaction_id", "requested_by")},
            "responded_by": payload["responded_by"],
            "choice_id": choices[0 if granted else -1]["id"],
            "granted": granted,
        },
    )
