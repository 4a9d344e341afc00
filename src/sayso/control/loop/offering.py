"""What our own loop says of itself: features, bounds, and the tools it has in every session (OAP-018, 038, 039, 160).

Everything a refusal may rest on stands here, so that a client can know before it asks. Tools of sources that are opened
for a session are in that session's catalog; here their sources are only named. The revision is a hash of all of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from sayso.control.adapters.contract import Descriptor
from sayso.control.loop.line.machine import BOUND
from sayso.control.loop.replay import CAPACITY
from sayso.control.loop.telling import AGENT
from sayso.control.protocol.envelope import AGENT_PROFILE, VERSION
from sayso.control.protocol.payloads.capabilities import (
    CapabilitiesResponse,
    CapabilityLimits,
    Endpoint,
    FeatureSupport,
    ToolDefinition,
    ToolSourceDescriptor,
)
from sayso.core import strictjson
from sayso.proof.hashes import sha256_hex

__all__ = ("MAX_PROVIDED_TOOLS", "MAX_SOURCES", "TOOL_NAME", "TRANSPORTS", "describe")

MAX_SOURCES = 16
MAX_PROVIDED_TOOLS = 64
TRANSPORTS = ("process", "remote")
TOOL_NAME = "^[a-zA-Z0-9_-]{1,64}$"
"""What every vendor takes as the name of a tool."""

_NATIVE = (
    "action.tools",
    "action.tools.list",
    "capabilities",
    "models.list",
    "permissions",
    "protocol.initialize",
    "run.cancel",
    "run.compaction",
    "run.instructions",
    "run.status",
    "run.streaming",
    "session.compact",
    "session.message.delivery.auto",
    "session.message.delivery.queue",
    "session.message.delivery.steer",
    "session.message.submit",
    "session.model.switch",
    "session.open",
    "session.open.subscribe",
    "session.state",
    "user_input",
)
_LEVELS = "off, low, medium, high, xhigh; minimal runs as low"
_FEATURES = {key: FeatureSupport(level="native") for key in _NATIVE} | {
    "action.tools.provide": FeatureSupport(
        level="native", limits={"max_tools": MAX_PROVIDED_TOOLS, "name_pattern": TOOL_NAME}
    ),
    "run.model_selection": FeatureSupport(level="native", scope="run"),
    "run.replay": FeatureSupport(
        level="emulated", reason=f"the last {CAPACITY} events of a session's runs, in this process"
    ),
    "run.structured_output": FeatureSupport(
        level="emulated", reason="asked of the model and then checked; a run whose answer does not fit fails"
    ),
    "run.tool_selection": FeatureSupport(level="native", scope="run", modes=("auto", "none", "required", "named")),
    "session.compaction.policy": FeatureSupport(level="native", modes=("session_open",)),
    "session.reasoning": FeatureSupport(level="emulated", reason=f"levels {_LEVELS}", modes=("session_open",)),
}
"""What every loop has."""
_ATTACHES = FeatureSupport(
    level="native",
    modes=("remote", "session_open"),
    limits={"max_sources": MAX_SOURCES, "transports": list(TRANSPORTS)},
)


def describe(
    tools: Iterable[ToolDefinition],
    sources: Iterable[ToolSourceDescriptor],
    *,
    attaches: bool,
    reopens: bool,
    signs_in: bool,
) -> Descriptor:
    """The descriptor of a loop with these tools and sources; what it has no port for it does not advertise."""
    features = dict(_FEATURES)
    if attaches:
        features["action.tool_sources.attach"] = _ATTACHES
    if reopens:
        features["session.open.reopen"] = FeatureSupport(level="native")
    if signs_in:
        features |= {key: FeatureSupport(level="native") for key in ("auth.login", "auth.providers")}
    capabilities = CapabilitiesResponse(
        endpoint=Endpoint(id=AGENT, name="sayso", adapter="own_loop"),
        protocol_versions=(VERSION,),
        profiles=(AGENT_PROFILE,),
        features=dict(sorted(features.items())),
        sources=tuple(sorted(sources, key=lambda source: source.id)),
        tools=tuple(sorted(tools, key=lambda tool: tool.name)),
        limits=CapabilityLimits(max_active_runs_per_session=BOUND + 1, max_queued_runs_per_session=BOUND),
    )
    return Descriptor(f"own-loop-{sha256_hex(strictjson.encode(capabilities))[:16]}", capabilities)
