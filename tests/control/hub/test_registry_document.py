"""The registry document: what is read, and which one refusal a wrong document gets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.hub.registry_document import AdapterEntry, ToolSourceEntry, read_registry_document
from sayso.control.hub.registry_loading import BACKENDS, type_of
from sayso.core.refusal import Refused

EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "examples" / "registry.json"


def refused(text: str) -> tuple[str | None, str | None]:
    with pytest.raises(Refused) as caught:
        read_registry_document(text.encode())
    assert caught.value.refusal.code == "config_invalid"
    return caught.value.refusal.reason, caught.value.refusal.place


@pytest.mark.req("OAP-086", "OAP-087")
def test_a_document_is_read_into_closed_entries() -> None:
    """Absent members stay absent, and the entries stand in sorted order."""
    document = read_registry_document(
        b'{"tool_sources": {"fs": {"kind": "process", "command": "/bin/fs", "environment": ["T"]}},'
        b' "adapters": {"b": {"type": "memory", "journal_capacity": 8}, "a": {}}}'
    )
    assert list(document.adapters.items()) == [
        ("a", AdapterEntry()),
        ("b", AdapterEntry(type="memory", journal_capacity=8)),
    ]
    assert document.tool_sources == {"fs": ToolSourceEntry(kind="process", command="/bin/fs", environment=("T",))}


@pytest.mark.req("OAP-086", "OAP-087", "OAP-220")
def test_the_shipped_example_has_an_entry_of_every_type_and_every_kind() -> None:
    """Whoever copies from it finds each backend, each kind of source and each member once."""
    document = read_registry_document(EXAMPLE.read_bytes())
    assert {type_of(name, entry) for name, entry in document.adapters.items()} == set(BACKENDS)
    assert {entry.kind for entry in document.tool_sources.values()} == {
        "native", "local", "process", "remote", "hosted",
    }  # fmt: skip
    written = json.loads(EXAMPLE.read_text())
    assert {member for entry in written["adapters"].values() for member in entry} == set(AdapterEntry.__struct_fields__)
    sources = written["tool_sources"].values()
    assert {member for entry in sources for member in entry} == set(ToolSourceEntry.__struct_fields__)


@pytest.mark.req("OAP-086")
@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        ('{"adapters": {"m": {}}} x', "syntax", "line 1 column 25"),
        ('{"adapters": {"m": {}}}{}', "syntax", "line 1 column 24"),
        ("", "syntax", "line 1 column 0"),
        ('{"adapters": {"m": {"journal_capacity": 1e999}}}', "syntax", "line 1 column 41"),
        ("[]", "shape", "$"),
        ("null", "shape", "$"),
        ('{"adapters": []}', "shape", "adapters"),
        ('{"adapters": {"m": null}}', "shape", "adapters.m"),
        ('{"adapters": {"m": {"model": null}}}', "shape", "adapters.m.model"),
        ('{"adapters": {"m": {"args": ["a", 1]}}}', "shape", "adapters.m.args[1]"),
        ('{"adapters": {"m": {"journal_capacity": 0}}}', "shape", "adapters.m.journal_capacity"),
        ('{"adapters": {"m": {"journal_capacity": true}}}', "shape", "adapters.m.journal_capacity"),
        ('{"tool_sources": {"s": {"kind": "plugin"}}}', "shape", "tool_sources.s.kind"),
        ('{"tool_sources": {"s": {"command": "x"}}}', "shape", "tool_sources.s"),
        ('{"adaptors": {}}', "unknown_member", "adaptors"),
        ('{"adapters": {"m": {"Type": "memory"}}}', "unknown_member", "adapters.m.Type"),
        ('{"tool_sources": {"s": {"kind": "local", "env": []}}}', "unknown_member", "tool_sources.s.env"),
        ('{"adapters": {"m": {"type": "memory", "type": "pi"}}}', "duplicate_member", "adapters.m.type"),
        ('{"adapters": {"m": {}, "m": {}}}', "duplicate_member", "adapters.m"),
        ('{"adapters": {}, "\\u0061dapters": {}}', "duplicate_member", "adapters"),
    ],
)
def test_a_wrong_document_is_refused_by_the_path_of_its_member(text: str, reason: str, place: str) -> None:
    """The operator is told where; nothing is served."""
    assert refused(text) == (reason, place)


@pytest.mark.req("OAP-086")
def test_of_several_faults_the_first_in_sorted_order_is_named() -> None:
    """Whatever order the file has, one document has one refusal."""
    unknown = '{"adapters": {"z": {"b": 1}, "a": {"z": 1, "Q": 1}}, "tool_sources": {"s": {"a": 1}}}'
    assert refused(unknown) == ("unknown_member", "adapters.a.Q")
    twice = (
        '{"tool_sources": {"s": {"kind": 1, "kind": 2}}, "adapters": {"z": {"model": 1, "model": 1}, "b": 1, "b": 2}}'
    )
    assert refused(twice) == ("duplicate_member", "adapters.b")
    assert refused(twice.replace(', "b": 1, "b": 2', "")) == ("duplicate_member", "adapters.z.model")


def test_a_member_that_differs_by_its_case_is_told_its_spelling() -> None:
    """The refusal says what to write."""
    with pytest.raises(Refused) as caught:
        read_registry_document(b'{"adapters": {"m": {"Working_Directory": "/"}}}')
    assert caught.value.refusal.help == "Write it as `working_directory`."


@given(st.binary(max_size=80) | st.text(alphabet='{}[]":,adptersoluc_memory\\', max_size=120).map(str.encode))
def test_whatever_the_bytes_only_one_kind_of_refusal_leaves(data: bytes) -> None:
    """The reader is a funnel."""
    said: tuple[str, str | None] = ("config_invalid", "none")
    try:
        read_registry_document(data)
    except Refused as refused:
        said = (refused.refusal.code, refused.refusal.place)
    assert said[0] == "config_invalid"
    assert said[1]
