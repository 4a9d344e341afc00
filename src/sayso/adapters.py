"""Writing an adapter, driving one without a hub, and a hub in this process without a socket.

    adapter = MemoryAdapter(clock=SystemClock(), ids=SystemIds())
    session = await adapter.open(request, "s1", tasks)
    result = await run_to_terminal(session, submission, policy, ids=ids)

`Adapter` and `AdapterSession` are the port; each optional unit is a protocol of its own, found by `isinstance`. A
harness's codec and reducer are tested with `read_corpus` and `differences` against recorded native frames. `memory` is
the adapter to compare with.

    async with Hub(default_registry()) as hub, LocalClient(hub) as client:
        session = await client.start("memory")
        events = hub.subscribe(session.id)
        await session.submit("Say hello")
        async for envelope in events:
            print(envelope.type)

`OwnLoop` is our own agent: over any `Provider` (`open_wire` reaches a model by its address), with any `ToolSource`, and
with the tools of a folder by `WorkspaceOpener`. `docs/embed-the-loop.md` tells how it is put together.

A `Hub` adds several adapters and sessions, any number of subscriptions and replay; its end closes every session, as
`close_sessions` does. A subscription that fell behind raises `OverflowError` with the cursor to go on at, one on an
expired cursor `ReplayGapError`. A host that forwards requests validates them (`read_envelope`), hands them to
`serve_request`, and calls `published` when the answer to a steer is out.
"""

from __future__ import annotations

from sayso.control.adapters.contract import (
    Adapter,
    AdapterSession,
    AttachesProviders,
    Authenticates,
    Compacts,
    Descriptor,
    ListsModels,
    ListsTools,
    MeetsParticipant,
    Reopens,
    ResolvesCalls,
    Resumes,
    SwitchesModels,
    TellsSession,
)
from sayso.control.adapters.corpus import Case, Replay, Step, differences, normalised, read_case, read_corpus
from sayso.control.adapters.gates import (
    RUN_CONTROLS,
    verify_attachment,
    verify_compact,
    verify_feature,
    verify_open,
    verify_submit,
)
from sayso.control.adapters.own_loop import OwnLoop
from sayso.control.adapters.reference.adapter import MemoryAdapter
from sayso.control.adapters.stream import RunStream
from sayso.control.adapters.to_terminal import Answers, Policy, RunResult, denying, run_to_terminal
from sayso.control.client.errors import (
    OverflowError,  # noqa: A004 - the protocol's word for it; never the arithmetic one
    ReplayGapError,
)
from sayso.control.client.local import LocalClient
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.hub.registry_loading import default_registry, load_registry
from sayso.control.hub.serving import serve_request
from sayso.control.loop.contract import (
    OpensSource,
    SourceTerms,
    ToolAnswer,
    ToolAsks,
    ToolCall,
    ToolDone,
    ToolOutcome,
    ToolSource,
    ToolSpec,
)
from sayso.control.loop.permitting import Permitting, Preview
from sayso.control.loop.saved import SavedConversations
from sayso.control.provider.contract import Provider
from sayso.control.provider.planner.provider import OfflinePlanner
from sayso.control.provider.wires import Offering, open_wire
from sayso.control.workspace.opener import WorkspaceOpener
from sayso.core.clock import SystemClock
from sayso.core.ids import SystemIds

__all__ = (
    "RUN_CONTROLS",
    "Adapter",
    "AdapterSession",
    "Answers",
    "AttachesProviders",
    "Authenticates",
    "Case",
    "Compacts",
    "Descriptor",
    "Hub",
    "ListsModels",
    "ListsTools",
    "LocalClient",
    "MeetsParticipant",
    "MemoryAdapter",
    "Offering",
    "OfflinePlanner",
    "OpensSource",
    "OverflowError",
    "OwnLoop",
    "Permitting",
    "Policy",
    "Preview",
    "Provider",
    "Registry",
    "Reopens",
    "Replay",
    "ReplayGapError",
    "ResolvesCalls",
    "Resumes",
    "RunResult",
    "RunStream",
    "SavedConversations",
    "SourceTerms",
    "Step",
    "SwitchesModels",
    "SystemClock",
    "SystemIds",
    "TellsSession",
    "ToolAnswer",
    "ToolAsks",
    "ToolCall",
    "ToolDone",
    "ToolOutcome",
    "ToolSource",
    "ToolSpec",
    "WorkspaceOpener",
    "default_registry",
    "denying",
    "differences",
    "load_registry",
    "normalised",
    "open_wire",
    "read_case",
    "read_corpus",
    "run_to_terminal",
    "serve_request",
    "verify_attachment",
    "verify_compact",
    "verify_feature",
    "verify_open",
    "verify_submit",
)
