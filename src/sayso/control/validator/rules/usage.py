"""Events an endpoint may emit only for what it advertises (OAP-018, OAP-029).

Judged where something begins: a call, a question, a compaction, a steer's settlement. What follows belongs to it.
"""

from __future__ import annotations

from collections.abc import Mapping

from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.validator.rules.capabilities import INPUT, PERMISSIONS, TOOLS
from sayso.control.validator.rules.scene import Heard, Scene

__all__ = ("judge_usage",)

_GATES: Mapping[str, tuple[str, ...]] = {
    "action.call.requested": TOOLS,
    "action.permission.requested": PERMISSIONS,
    "user.input.requested": INPUT,
    "run.compaction.started": ("run.compaction",),
    "run.steer.applied": ("session.message.delivery.steer",),
    "run.steer.dropped": ("session.message.delivery.steer",),
    "auth.login.event": ("auth.login",),
}


def judge_usage(scene: Scene, heard: Heard) -> None:
    """An event that uses a feature nobody advertised."""
    keys = _GATES.get(heard.envelope.type)
    capabilities = scene.in_hand
    if keys is None or capabilities is None or capabilities.offers(*keys):
        return
    cited = heard.envelope.capability_revision
    if cited is UNSET or cited == capabilities.revision:
        message = f"`{heard.envelope.type}` comes from an endpoint that offers no `{keys[-1]}`"
        heard.add("unavailable_capability", message)
