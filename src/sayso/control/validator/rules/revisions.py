"""Capability revisions: one revision is one descriptor, and a request may pin it (OAP-018, OAP-065).

`capabilities.updated` only invalidates: new work is asked for on a descriptor that is in hand. A pinned request is
refused when the pin is not current, with both revisions, and only then. What cites a revision cites one that was
announced or published.
"""

from __future__ import annotations

from typing import Any

from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.protocol.types import AGENT_TYPES, Kind
from sayso.control.validator.rules.capabilities import Capabilities, parts_of, read_capabilities
from sayso.control.validator.rules.ladder import ATTACH, QUEUE
from sayso.control.validator.rules.refusals import error_of, is_success
from sayso.control.validator.rules.scene import Heard, Scene

__all__ = ("hear_capabilities", "hear_update", "judge_citation", "judge_pin")

_WORK = ("session.message.submit.request", "session.compact.request")
_BOOTSTRAP = ("protocol.initialize.request", "capabilities.request")


def hear_capabilities(scene: Scene, heard: Heard) -> None:
    """A descriptor: judged by itself and against what its revision said before, then in force."""
    revision = str(heard.envelope.capability_revision)
    now = read_capabilities(revision, heard.payload)
    _judge_disclosures(now, heard)
    _judge_catalog(scene, now, heard)
    before = scene.capabilities
    if before is not None and not scene.is_announced and before.revision == revision:
        _judge_same(before, now, heard)
    scene.capabilities, scene.revision = now, revision
    scene.revisions.add(revision)


def hear_update(scene: Scene, heard: Heard) -> None:
    """A newer revision was announced; its descriptor is still to be fetched."""
    previous = heard.payload.previous_revision
    if scene.revision is not None and previous != scene.revision:
        heard.add("stale_capability_revision", f"`{previous}` is not the revision that was in force")
    scene.revision = str(heard.envelope.capability_revision)
    scene.revisions.add(scene.revision)


def judge_citation(scene: Scene, heard: Heard) -> None:
    """An answer or event that cites a revision cites one this trace knows; an answer one that held meanwhile."""
    cited = heard.envelope.capability_revision
    if (
        cited is UNSET
        or scene.revision is None
        or heard.envelope.type in ("capabilities.response", "capabilities.updated")
    ):
        return
    kind = AGENT_TYPES[heard.envelope.type].kind if heard.envelope.type in AGENT_TYPES else Kind.EVENT
    if kind is Kind.REQUEST:
        return
    question = heard.question
    held = {scene.revision, question.revision} if question is not None else scene.revisions
    if cited not in held and not (question is not None and question.revision is None):
        heard.add("stale_capability_revision", f"`{cited}` is not the revision in force")


def judge_pin(scene: Scene, heard: Heard) -> bool:
    """The answer to a request that may have pinned a revision; True when that decides it."""
    question = heard.question
    if question is None or question.revision is None or question.envelope.type in _BOOTSTRAP:
        return False
    pin = question.envelope.capability_revision
    if pin is UNSET:
        if question.is_announced and question.envelope.type in _WORK and is_success(heard):
            heard.add("stale_capability_revision", "new work is asked for on a descriptor that is in hand")
            return True
        return _judge_refusal(scene, heard, is_due=False)
    is_stale = pin not in (question.revision, scene.revision)
    if is_stale and is_success(heard):
        heard.add("stale_capability_revision", f"the request pinned `{pin}`, which was not in force")
        return True
    if heard.envelope.type != "error.response" and heard.envelope.capability_revision != pin:
        heard.add("stale_capability_revision", "a request that pins a revision is answered under it, saying so")
    return _judge_refusal(scene, heard, is_due=is_stale)


def _judge_refusal(scene: Scene, heard: Heard, *, is_due: bool) -> bool:
    if heard.envelope.type != "error.response":
        return False
    code, details = error_of(heard)
    if code == "stale_capabilities":
        moved = heard.question is not None and heard.question.revision != scene.revision
        if not is_due and not moved:
            heard.add("stale_capability_revision", "the request did not pin another revision")
        elif not all(isinstance(details.get(name), str) for name in ("expected_revision", "current_revision")):
            heard.add("stale_capability_revision", "the refusal names both revisions")
        return True
    if is_due and code in ("unknown_session", "session_closed", "scope_mismatch", "busy"):
        return True
    if is_due:
        heard.add("stale_capability_revision", "the refusal owed here is `stale_capabilities`")
    return is_due


# --- the descriptor by itself ----------------------------------------------------------------------------------------


def _judge_disclosures(now: Capabilities, heard: Heard) -> None:
    if now.offers(QUEUE):
        if now.max_queued is None:
            heard.add("undisclosed_queue_limit", "a queue says how many may wait")
        elif now.max_active is not None and now.max_active < now.max_queued + 1:
            heard.add("undisclosed_queue_limit", "the bound on active runs leaves no place for those that wait")
    if now.offers(ATTACH) and not now.has_mode(ATTACH, "session_open"):
        heard.add("undisclosed_attach_modes", "attachment without `session_open` is nothing an open can elect")
    for key in ("run.model_selection", "run.tool_selection"):
        if now.offers(key) and now.scope(key) not in ("run", "session"):
            heard.add("undisclosed_selection_scope", f"`{key}` says whether it lasts for a run or the session")


def _judge_catalog(scene: Scene, now: Capabilities, heard: Heard) -> None:
    sources: dict[str, Any] = {}
    tools: dict[str, Any] = {}
    for part in parts_of(heard.payload):
        _judge_entries("duplicate_tool_source", "id", part.sources or (), sources, heard)
        _judge_entries("duplicate_tool_name", "name", part.tools or (), tools, heard)
    for tool in tools.values():
        if tool.source is not UNSET and tool.source not in sources:
            heard.add("unmatched_tool_source", f"`{tool.name}` names the source `{tool.source}`, which is not declared")
    if scene.capabilities is None or scene.capabilities.revision == now.revision:
        return
    for session in scene.furnished.values():
        for name in session.attached.keys() & now.sources.keys() - scene.capabilities.sources.keys():
            heard.add("duplicate_tool_source", f"an open session attached a source `{name}`")
        for name in session.provided.keys() & now.tools.keys():
            heard.add("duplicate_tool_name", f"an open session was provided with a tool `{name}`")


def _judge_entries(code: str, key: str, entries: Any, seen: dict[str, Any], heard: Heard) -> None:
    """One list of a descriptor: no id twice in it, and none that another part describes differently."""
    here: set[str] = set()
    for entry in entries:
        name = getattr(entry, key)
        if name in here or seen.setdefault(name, entry) != entry:
            heard.add(code, f"`{name}` is declared twice")
        here.add(name)


def _judge_same(before: Capabilities, now: Capabilities, heard: Heard) -> None:
    if before.level("models.list") != now.level("models.list"):
        heard.add("unannounced_catalog_change", "the level of `models.list` moved within one revision")
    is_same = (before.level(QUEUE), before.max_queued, before.max_active) == (
        now.level(QUEUE),
        now.max_queued,
        now.max_active,
    )
    if not is_same:
        heard.add("stale_capability_revision", "the queue's promise moved within one revision")
