"""Entries made into adapters at the start, from a document or from a program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from sayso.control.adapters.contract import Adapter
from sayso.control.adapters.unavailable import Unavailable
from sayso.control.hub.hub import Hub
from sayso.control.hub.registry import Registry
from sayso.control.hub.registry_document import ToolSourceEntry
from sayso.control.hub.registry_loading import AdapterPlan, load_registry
from sayso.core.clock import ManualClock
from sayso.core.ids import CountingIds
from sayso.core.refusal import Refused
from sayso.testing.adapter import ScriptedAdapter
from tests.control.houses import NOON
from tests.control.hub.test_registry_document import EXAMPLE

SECRETS = {"FILES_TOKEN": "hunter2", "ANTHROPIC_API_KEY": "hunter3", "OTHER": "hunter4"}


class Workshop:
    """Builds scripted adapters and keeps what it was given."""

    def __init__(self) -> None:
        self.plans: list[AdapterPlan] = []
        self.built: list[Adapter] = []

    def build(self, plan: AdapterPlan) -> Adapter:
        self.plans.append(plan)
        self.built.append(ScriptedAdapter())
        return self.built[-1]


def load(
    tmp_path: Path, document: object, environ: Mapping[str, str] = SECRETS, shop: Workshop | None = None
) -> Registry:
    path = tmp_path / "registry.json"
    path.write_text(json.dumps(document))
    builders = {"memory": shop.build, "claude": shop.build} if shop else {}
    return load_registry(path, environ, clock=ManualClock(NOON), ids=CountingIds(), builders=builders)


@pytest.mark.req("OAP-086", "OAP-088")
def test_each_entry_is_an_adapter_of_its_own(tmp_path: Path) -> None:
    """Two entries of one type are two adapters; a type not given is the entry's name; they are listed sorted."""
    shop = Workshop()
    document = {"adapters": {"second": {"type": "memory"}, "memory": {"journal_capacity": 3}}}
    registry = load(tmp_path, document, shop=shop)
    assert [name for name, _ in registry] == ["memory", "second"]
    assert [plan.name for plan in shop.plans] == ["memory", "second"]
    assert registry.find("memory") is not registry.find("second")
    assert (registry.journal_capacity("memory"), registry.journal_capacity("second")) == (3, None)


@pytest.mark.req("OAP-089")
def test_a_child_is_given_what_its_entry_lists_and_nothing_else(tmp_path: Path) -> None:
    """A bare name takes our value, NAME=value its own, NAME= is empty, an unset one is left out."""
    shop = Workshop()
    listed = ["ANTHROPIC_API_KEY", "MODE=a=b", "EMPTY=", "NOT_SET"]
    load(tmp_path, {"adapters": {"claude": {"environment": listed}, "memory": {}}}, shop=shop)
    assert [dict(plan.environment) for plan in shop.plans] == [
        {"ANTHROPIC_API_KEY": "hunter3", "MODE": "a=b", "EMPTY": ""}, {},
    ]  # fmt: skip
    assert "hunter" not in repr(shop.plans)


@pytest.mark.req("OAP-088", "OAP-089", "OAP-063")
@pytest.mark.parametrize(
    ("document", "reason", "place"),
    [
        ({"adapters": {}}, "no_adapter", "adapters"),
        ({"tool_sources": {}}, "no_adapter", "adapters"),
        ({"adapters": {"A": {"type": "memory"}}}, "name", "adapters.A"),
        ({"adapters": {"gemini": {}}}, "unknown_type", "adapters.gemini.type"),
        ({"adapters": {"m": {"type": "Memory"}}}, "unknown_type", "adapters.m.type"),
        ({"adapters": {"memory": {"version": "9"}}}, "member_not_taken", "adapters.memory.version"),
        ({"adapters": {"memory": {"model": "x", "args": []}}}, "member_not_taken", "adapters.memory.args"),
        ({"adapters": {"claude": {"working_directory": "here"}}}, "shape", "adapters.claude.working_directory"),
        ({"adapters": {"acp": {"executable": "/a"}}}, "missing_member", "adapters.acp.working_directory"),
        ({"adapters": {"deepseek": {"executable": "/a", "working_directory": "/"}}},
         "missing_member", "adapters.deepseek.model"),
        ({"adapters": {"claude": {"environment": ["OTHER", "OTHER=x"]}}}, "repeated", "adapters.claude.environment"),
        ({"adapters": {"claude": {"environment": ["=x"]}}}, "name", "adapters.claude.environment"),
        ({"adapters": {"memory": {}}, "tool_sources": {"s": {"kind": "process"}}},
         "missing_member", "tool_sources.s.command"),
        ({"adapters": {"memory": {}}, "tool_sources": {"s": {"kind": "local", "environment": ["NOT_SET"]}}},
         "not_set", "tool_sources.s.environment"),
        ({"adapters": {"memory": {}}, "tool_sources": {"s": {"kind": "local", "environment": ["A=1", "A=1"]}}},
         "repeated", "tool_sources.s.environment"),
        ({"adapters": {"memory": {}}, "tool_sources": {"": {"kind": "local"}}}, "name", "tool_sources."),
    ],
)  # fmt: skip
def test_an_entry_that_cannot_be_constructed_stops_the_start(
    tmp_path: Path, document: object, reason: str, place: str
) -> None:
    """It is named, and no value of the environment is."""
    with pytest.raises(Refused) as caught:
        load(tmp_path, document, shop=Workshop())
    assert (caught.value.refusal.code, caught.value.refusal.reason) == ("config_invalid", reason)
    assert caught.value.refusal.place == place
    assert "hunter" not in str(caught.value)


@pytest.mark.req("OAP-089")
def test_an_unset_variable_of_a_source_says_how_to_make_it_optional(tmp_path: Path) -> None:
    """A source started without its token would fail later, as though it were broken."""
    document = {"adapters": {"memory": {}}, "tool_sources": {"fs": {"kind": "local", "environment": ["MCP_TOKEN"]}}}
    with pytest.raises(Refused) as caught:
        load(tmp_path, document)
    assert "MCP_TOKEN is not set" in str(caught.value)
    assert "MCP_TOKEN=" in str(caught.value.refusal.help)
    document["tool_sources"]["fs"]["environment"] = ["MCP_TOKEN="]  # type: ignore[index]
    load(tmp_path, document)


@pytest.mark.req("OAP-088")
@pytest.mark.parametrize(
    ("source_id", "entry", "place"),
    [
        ("s", ToolSourceEntry(kind="plugin"), "tool_sources.s.kind"),  # type: ignore[arg-type]
        ("s", ToolSourceEntry(kind="process"), "tool_sources.s.command"),
        ("s", ToolSourceEntry(kind="local", environment=("A", "A")), "tool_sources.s.environment"),
        ("s", ToolSourceEntry(kind="local", environment=("UNSET",)), "tool_sources.s.environment"),
        ("taken", ToolSourceEntry(kind="local"), "tool_sources.taken"),
        ("", ToolSourceEntry(kind="local"), "tool_sources."),
    ],
)
def test_a_program_meets_the_checks_of_a_document(source_id: str, entry: ToolSourceEntry, place: str) -> None:
    """A source that a program registers is judged as the loader would judge it."""
    registry = Registry(environ={"A": "1"})
    registry.register_source("taken", ToolSourceEntry(kind="local"))
    with pytest.raises(Refused) as caught:
        registry.register_source(source_id, entry)
    assert (caught.value.refusal.code, caught.value.refusal.place) == ("config_invalid", place)


@pytest.mark.req("OAP-088")
def test_an_adapter_is_registered_once_under_a_name_that_is_an_address() -> None:
    """The same checks for a program."""
    registry = Registry()
    registry.register("memory", ScriptedAdapter())
    for name, capacity, place in (
        ("memory", None, "adapters.memory"),
        ("a/b", None, "adapters.a/b"),
        ("new", 0, "adapters.new.journal_capacity"),
    ):
        with pytest.raises(Refused) as caught:
            registry.register(name, ScriptedAdapter(), journal_capacity=capacity)
        assert (caught.value.refusal.code, caught.value.refusal.place) == ("config_invalid", place)
    assert [name for name, _ in registry] == ["memory"]


@pytest.mark.anyio
@pytest.mark.req("OAP-004", "OAP-220")
async def test_the_shipped_example_starts_and_names_what_this_build_lacks() -> None:
    """Every entry is listed under its own name; a backend that is not here says so and is replaced by nothing."""
    shop = Workshop()
    registry = load_registry(EXAMPLE, SECRETS, builders={"memory": shop.build, "sayso": shop.build})
    assert [plan.name for plan in shop.plans] == ["memory", "sayso"]
    async with Hub(registry, clock=ManualClock(NOON), ids=CountingIds()) as hub:
        listed = {listing.name: listing.error for listing in await hub.adapters()}
    missing = sorted(name for name, error in listed.items() if error)
    assert missing == ["acp", "careful-claude", "claude", "codex", "deepseek", "hermes", "opencode", "pi"]
    assert listed["careful-claude"] == "the backend claude is not in this build"
    assert isinstance(registry.find("careful-claude"), Unavailable)


def test_a_document_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The operator sees which file."""
    with pytest.raises(Refused) as caught:
        load_registry(tmp_path / "none.json", {})
    assert caught.value.refusal.place == str(tmp_path / "none.json")
