"""The agent card: one document with the members of 0.3 and 1.0 side by side; readers skip what they do not know.

The public card says how to come in and nothing of what there is to ask; the extended one lists the acts with their
schemas. Unsigned: what it says is proved by the origin that serves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from sayso.core import strictjson
from sayso.governance.acts import Act

__all__ = ("ACTS", "write_card")

ACTS = "https://sayso.example/a2a/acts/v1"
"""The extension under which the extended card lists the acts."""
_SIGNING = (
    "Send the key the owner issued in X-OSz-Agent-Key. Sign every POST, PUT, PATCH and DELETE: X-OSz-Timestamp is the "
    "time in milliseconds since 1970, X-OSz-Signature the hex HMAC-SHA256, under the key, of timestamp, a full stop "
    "and the body's bytes."
)
_ASKING = (
    'Send one data part {"act": name, "arguments": {...}}; the extended card lists the acts. What only discloses is '
    "answered at once. What changes something becomes a task that a person decides on: read it, subscribe to it, or "
    "have its moves pushed to you. Text alone is a search."
)


def write_card(url: str, version: str, acts: Sequence[Act] = ()) -> dict[str, Any]:
    """The card of a door at `url`, the address of its JSON-RPC binding; with `acts` it is the extended card."""
    scheme = {"name": "X-OSz-Agent-Key", "description": _SIGNING}
    modes = ["application/json", "text/plain"]
    extensions = [{"uri": ACTS, "description": "The acts.", "params": {"acts": [_act(each) for each in acts]}}]
    return {
        "name": "sayso gateway",
        "description": "Acts on a person's say-so: nothing that changes anything happens without a person's decision.",
        "version": version,
        "url": url,
        "protocolVersion": "0.3.0",
        "preferredTransport": "JSONRPC",
        "additionalInterfaces": [{"url": url, "transport": name} for name in ("JSONRPC", "HTTP+JSON")],
        "supportedInterfaces": [
            {"url": url, "protocolBinding": binding, "protocolVersion": spoken}
            for spoken in ("1.0", "0.3")
            for binding in ("JSONRPC", "HTTP+JSON")
        ],
        "capabilities": {
            "streaming": True,
            "pushNotifications": True,
            "stateTransitionHistory": False,
            "extendedAgentCard": True,
            **({"extensions": extensions} if acts else {}),
        },
        "supportsAuthenticatedExtendedCard": True,
        "securitySchemes": {
            "osz": {
                "type": "apiKey",
                "in": "header",
                **scheme,
                "apiKeySecurityScheme": {"location": "header", **scheme},
            }
        },
        "security": [{"osz": []}],
        "securityRequirements": [{"schemes": {"osz": {"list": []}}}],
        "defaultInputModes": modes,
        "defaultOutputModes": modes,
        "skills": [_skill(each) for each in acts] or [_asking()],
    }


def _asking() -> dict[str, Any]:
    return {"id": "ask", "name": "Ask for an act", "description": _ASKING, "tags": ["acts", "search"]}


def _skill(act: Act) -> dict[str, Any]:
    tags = [act.act_class.value]
    return {"id": act.name, "name": act.title, "description": act.description, "tags": tags}


@cache  # an act never changes, and its schemas take longer to print than all the rest of a card
def _act(act: Act) -> msgspec.Raw:
    found: dict[str, Any] = {"act": act.name, "class": act.act_class.value, "arguments": act.input_schema()}
    result = act.output_schema()
    return msgspec.Raw(strictjson.encode(found if result is None else {**found, "result": result}))
