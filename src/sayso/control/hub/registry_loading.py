"""A registry document made into adapters: every entry constructed at the start, each its own instance (OAP-086..089).

`TYPES` says for each backend which members say something to it and which it cannot do without; a member that says
nothing to the entry's type is refused, because it would otherwise be accepted and ignored. Backends this build knows by
name and does not have are registered as `Unavailable`, so that a document for several machines serves what is here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from sayso.control.adapters.contract import Adapter
from sayso.control.adapters.reference.adapter import JOURNAL_CAPACITY, MemoryAdapter
from sayso.control.adapters.unavailable import Unavailable
from sayso.control.hub.registry import Registry
from sayso.control.hub.registry_document import AdapterEntry, RegistryDocument, not_valid, read_registry_document
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.core.clock import Clock, SystemClock
from sayso.core.ids import Ids, SystemIds
from sayso.core.refusal import Refused
from sayso.net.environment import child_environment

__all__ = (
    "BACKENDS",
    "AdapterPlan",
    "AdapterType",
    "Builder",
    "build_registry",
    "default_registry",
    "load_registry",
    "read_registry",
    "type_of",
)


@dataclass(frozen=True, slots=True, repr=False)
class AdapterPlan:
    """What a builder gets: an entry that has been checked, and all that a child of it may see of our environment."""

    name: str
    entry: AdapterEntry
    environment: Mapping[str, str]
    clock: Clock
    ids: Ids


Builder = Callable[[AdapterPlan], Adapter]


@dataclass(frozen=True, slots=True)
class AdapterType:
    """Members beside `type` that say something to a backend, and those it needs."""

    takes: frozenset[str]
    needs: tuple[str, ...] = ()


def _harness(*members: str, needs: tuple[str, ...] = ()) -> AdapterType:
    child = ("version", "executable", "args", "environment", "working_directory", "model", "journal_capacity")
    return AdapterType(frozenset((*child, *members)), needs)


TYPES: Mapping[str, AdapterType] = {
    "acp": _harness("agent", "agent_config", needs=("executable", "working_directory")),
    "claude": _harness("allowed_tools", "unrestricted_tools", "system_prompt"),
    "codex": _harness("approval_policy", "sandbox"),
    "deepseek": _harness("provider", "max_tokens", needs=("executable", "working_directory", "provider", "model")),
    "hermes": _harness("provider", needs=("executable", "working_directory")),
    "memory": AdapterType(frozenset({"journal_capacity"})),
    "opencode": _harness("endpoint", "provider", "agent"),
    "pi": _harness("provider"),
    "sayso": AdapterType(frozenset({"journal_capacity"})),
}
BACKENDS = tuple(sorted(TYPES))
"""Every backend known by name, whether or not this build has it."""


def load_registry(
    path: Path,
    environ: Mapping[str, str] | None = None,
    *,
    clock: Clock | None = None,
    ids: Ids | None = None,
    builders: Mapping[str, Builder] | None = None,
) -> Registry:
    """The registry of a document. `environ` is where listed variables are looked up (the process's own by default);
    `builders` adds backends, or replaces ours.

    Refused `config_invalid`, naming the entry and its member.
    """
    return build_registry(read_registry(path), environ, clock=clock, ids=ids, builders=builders)


def read_registry(path: Path) -> RegistryDocument:
    """The document of a file. Refused `config_invalid`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise not_valid("unreadable", f"the registry cannot be read: {why}", place=str(path)) from error
    return read_registry_document(data)


def default_registry(*, clock: Clock | None = None, ids: Ids | None = None) -> Registry:
    """What is served without a document: the reference adapter `memory` alone."""
    return build_registry(RegistryDocument({"memory": AdapterEntry()}), {}, clock=clock, ids=ids)


def build_registry(
    document: RegistryDocument,
    environ: Mapping[str, str] | None = None,
    *,
    clock: Clock | None = None,
    ids: Ids | None = None,
    builders: Mapping[str, Builder] | None = None,
) -> Registry:
    """Constructs every entry, in the order of their names. Refused `config_invalid`, naming entry and member."""
    values = os.environ if environ is None else environ
    known: dict[str, Builder] = {**_built_in(), **(builders or {})}
    registry = Registry(environ=values)
    if not document.adapters:
        raise not_valid("no_adapter", "the document names no adapter, so there is nothing to serve", place="adapters")
    for name, entry in sorted(document.adapters.items()):
        place = f"adapters.{name}"
        kind = _verify_entry(name, entry, place)
        plan = AdapterPlan(name, entry, _environment(entry, values, place), clock or SystemClock(), ids or SystemIds())
        builder = known.get(kind)
        adapter = Unavailable(kind) if builder is None else _built(builder, plan, place)
        registry.register(name, adapter, journal_capacity=entry.journal_capacity or None)
    for source_id, source in sorted(document.tool_sources.items()):
        registry.register_source(source_id, source)
    return registry


def type_of(name: str, entry: AdapterEntry) -> str:
    """The backend an entry asks for: its `type`, else its own name."""
    return entry.type or name


def _built_in() -> dict[str, Builder]:
    return {"memory": _memory}


def _memory(plan: AdapterPlan) -> MemoryAdapter:
    capacity = plan.entry.journal_capacity or JOURNAL_CAPACITY
    return MemoryAdapter(clock=plan.clock, ids=plan.ids, journal_capacity=capacity)


def _verify_entry(name: str, entry: AdapterEntry, place: str) -> str:
    kind = type_of(name, entry)
    row = TYPES.get(kind)
    if row is None:
        hint = f"Known: {', '.join(BACKENDS)}."
        raise not_valid("unknown_type", f"no backend is called {kind}", place=f"{place}.type", hint=hint)
    for member in sorted(entry.__struct_fields__):
        is_given = getattr(entry, member) is not UNSET
        if is_given and member != "type" and member not in row.takes:
            what = f"`{member}` says nothing to the backend {kind}"
            raise not_valid("member_not_taken", what, place=f"{place}.{member}")
    for member in sorted(row.needs):
        if getattr(entry, member) is UNSET:
            raise not_valid("missing_member", f"the backend {kind} needs `{member}`", place=f"{place}.{member}")
    if entry.working_directory is not UNSET and not PurePath(entry.working_directory).is_absolute():
        raise not_valid("shape", "a working directory is an absolute path", place=f"{place}.working_directory")
    return kind


def _environment(entry: AdapterEntry, environ: Mapping[str, str], place: str) -> dict[str, str]:
    try:
        return child_environment(entry.environment or (), environ)
    except Refused as refused:
        fault = refused.refusal
        raise not_valid(str(fault.reason), fault.message, place=f"{place}.environment") from None


def _built(builder: Builder, plan: AdapterPlan, place: str) -> Adapter:
    try:
        return builder(plan)
    except Refused as refused:
        fault = refused.refusal
        raise not_valid("not_constructed", fault.message, place=place, hint=fault.help) from None
