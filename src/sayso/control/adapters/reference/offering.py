"""What the memory adapter says of itself, and the fixed catalogs behind it (OAP-018, 038, 039).

Everything a refusal may rest on stands here, so that a client can know before it asks: scopes, modes, limits and the
one result of structured output. The revision is a hash of all of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from sayso.control.adapters.contract import Descriptor
from sayso.control.protocol.envelope import AGENT_PROFILE, VERSION
from sayso.control.protocol.payloads.capabilities import (
    CapabilitiesResponse,
    CapabilityLimits,
    Endpoint,
    FeatureSupport,
    ToolDefinition,
    ToolSourceDescriptor,
)
from sayso.control.protocol.payloads.inference import ReasoningLevel
from sayso.control.protocol.payloads.models import ModelDescriptor, SessionProvider
from sayso.core import strictjson
from sayso.proof.hashes import sha256_hex

__all__ = (
    "AGENT",
    "ATTACHABLE",
    "DEFAULT_MODEL",
    "DESCRIPTOR",
    "FIXED_RESULT",
    "MAX_PROVIDED_TOOLS",
    "MAX_QUEUED_RUNS",
    "MAX_SOURCES",
    "MODELS",
    "PROVIDERS",
    "REASONING_LEVELS",
    "SOURCE",
    "TOOLS",
    "TOOL_NAME",
    "TRANSPORTS",
    "WINDOW",
)

AGENT = "memory-agent"
SOURCE = "memory"
DEFAULT_MODEL = "memory-small"
WINDOW = 1000
MAX_QUEUED_RUNS = 1
MAX_SOURCES = 2
MAX_PROVIDED_TOOLS = 4
TRANSPORTS = ("local", "process")
TOOL_NAME = "^[a-z][a-z0-9_]{0,31}$"
FIXED_RESULT: Mapping[str, object] = {"answer": "memory"}
REASONING_LEVELS: tuple[ReasoningLevel, ...] = ("off", "low", "medium", "high")

MODELS = (
    ModelDescriptor(id=DEFAULT_MODEL, provider_id="memory", context_window=WINDOW, default=True),
    ModelDescriptor(id="memory-large", provider_id="memory", context_window=WINDOW),
)
PROVIDERS = (SessionProvider(id="memory", display_name="The reference adapter's own", kind="direct"),)
ATTACHABLE = "memory-extra"
"""The one provider that may be attached to a session; it brings one model."""

TOOLS = (
    ToolDefinition(
        name="read_notes",
        description="Reads what was written",
        input_schema={"type": "object"},
        execution_owner=AGENT,
        source=SOURCE,
    ),
    ToolDefinition(
        name="write_note",
        description="Writes a note; asks first",
        input_schema={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        execution_owner=AGENT,
        source=SOURCE,
    ),
)

_NATIVE = (
    "action.tools",
    "action.tools.list",
    "auth.login",
    "auth.providers",
    "capabilities",
    "models.list",
    "permissions",
    "protocol.initialize",
    "run.cancel",
    "run.compaction",
    "run.status",
    "run.streaming",
    "session.compact",
    "session.message.delivery.auto",
    "session.message.submit",
    "session.model.switch",
    "session.open",
    "session.open.reopen",
    "session.open.subscribe",
    "session.state",
    "user_input",
)
_FEATURES: Mapping[str, FeatureSupport] = {
    **{key: FeatureSupport(level="native") for key in _NATIVE},
    "action.providers.attach": FeatureSupport(
        level="emulated",
        reason=f"the provider {ATTACHABLE} of this process may be attached, and no other",
        modes=("session_live",),
    ),
    "action.tool_sources.attach": FeatureSupport(
        level="emulated",
        reason="an attached source is listed with one scripted tool; nothing is started",
        modes=("session_open",),
        limits={"max_sources": MAX_SOURCES, "transports": list(TRANSPORTS)},
    ),
    "action.tools.provide": FeatureSupport(
        level="native", limits={"max_tools": MAX_PROVIDED_TOOLS, "name_pattern": TOOL_NAME}
    ),
    "run.instructions": FeatureSupport(level="emulated", reason="repeated in the reply"),
    "run.model_selection": FeatureSupport(level="native", scope="run"),
    "run.replay": FeatureSupport(level="degraded", reason="a bounded journal of this process"),
    "run.structured_output": FeatureSupport(
        level="emulated",
        reason="the result is always the same; a schema it does not satisfy is refused",
        constraints={"fixed_result": dict(FIXED_RESULT)},
    ),
    "run.tool_selection": FeatureSupport(level="native", scope="run", modes=("auto", "none", "required", "named")),
    "session.compaction.policy": FeatureSupport(
        level="emulated", reason=f"a token is four characters, a window {WINDOW} tokens", modes=("session_open",)
    ),
    "session.message.delivery.queue": FeatureSupport(level="emulated", reason="one reservation behind the run"),
    "session.message.delivery.steer": FeatureSupport(
        level="emulated", reason="applied when the run goes on after a question or a tool"
    ),
    "session.reasoning": FeatureSupport(
        level="emulated", reason=f"levels {', '.join(REASONING_LEVELS)}", modes=("session_open",)
    ),
}


def _describe() -> Descriptor:
    capabilities = CapabilitiesResponse(
        endpoint=Endpoint(id=AGENT, name="sayso memory reference", adapter="memory"),
        protocol_versions=(VERSION,),
        profiles=(AGENT_PROFILE,),
        features=dict(sorted(_FEATURES.items())),
        sources=(ToolSourceDescriptor(id=SOURCE, kind="native"),),
        tools=TOOLS,
        limits=CapabilityLimits(
            max_active_runs_per_session=MAX_QUEUED_RUNS + 1, max_queued_runs_per_session=MAX_QUEUED_RUNS
        ),
    )
    return Descriptor(f"memory-{sha256_hex(strictjson.encode(capabilities))[:16]}", capabilities)


DESCRIPTOR = _describe()
