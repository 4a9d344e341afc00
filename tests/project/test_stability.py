"""What the documents promise implementers: a contract, names to look up, decisions with a status, examples that run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sayso.apps.checks.modules import PUBLIC, public_names
from sayso.control.protocol.codes import CODES
from sayso.control.protocol.envelope import read_envelope, read_provider_envelope, write_envelope
from sayso.control.protocol.features import FEATURES
from sayso.control.protocol.types import AGENT_TYPES, PROVIDER_TYPES
from sayso.core import strictjson

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
STATUSES = ("proposed", "accepted", "superseded by ", "replaced by ")


@pytest.mark.req("OAP-218")
def test_the_stability_contract_says_what_it_has_to() -> None:
    """What freezes, what may be added, how conformance is answered, deprecation, notice, and the register."""
    text = (ROOT / "docs" / "stability.md").read_text()
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings == [
        "Before the first tag",
        "What freezes at the first tag",
        "What may be added",
        "How conformance is asked and answered",
        "Deprecation",
        "Notice before a break",
        "Register of implementers",
        "Public modules",
    ]
    assert re.search(r"^\| implementation \| role \| claims \| who to tell \|$", text, re.MULTILINE)
    offered = {f"`{name}`" for module in PUBLIC for name in public_names(module)}
    assert [name for name in sorted(offered) if name not in text] == []


@pytest.mark.req("OAP-219")
def test_every_key_and_every_code_can_be_looked_up() -> None:
    """The specification lists both sets whole, and nothing that is not there."""
    text = (ROOT / "docs" / "spec" / "control.md").read_text()
    places = dict(re.findall(r"<!-- printed: ([\w-]+) -->\n(.*?)<!-- end -->", text, re.DOTALL))
    keys = re.findall(r"^\| `([a-z_.]+)` \|", places["capability-keys"], re.MULTILINE)
    codes = re.findall(r"^\| `([a-z_]+)` \|", places["error-codes"], re.MULTILINE)
    assert (keys, codes) == (list(FEATURES), list(CODES))


@pytest.mark.req("OAP-219")
def test_every_decision_has_a_status_and_says_what_it_costs() -> None:
    """A record without either is an opinion; numbers are given once."""
    records = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    numbers = [path.name.partition("-")[0] for path in records]
    wrong = []
    for path in records:
        text = path.read_text()
        status = re.search(r"^- Status: (.+)$", text, re.MULTILINE)
        if status is None or not status[1].startswith(STATUSES) or "## What it costs" not in text:
            wrong.append(path.name)
    assert wrong == []
    assert len(set(numbers)) == len(numbers)


@pytest.mark.req("OAP-220")
@pytest.mark.parametrize(
    ("name", "types", "read"),
    [
        ("envelopes.jsonl", AGENT_TYPES, read_envelope),
        ("provider-envelopes.jsonl", PROVIDER_TYPES, read_provider_envelope),
    ],
)
def test_there_is_an_illustrative_envelope_of_every_type(name: str, types: object, read: object) -> None:
    """One a line, in the order of the table, each read by the one reader and written back as it stands."""
    lines = (EXAMPLES / name).read_bytes().splitlines()
    found = [read(line) for line in lines]  # type: ignore[operator]
    assert [envelope.type for envelope in found] == list(types)  # type: ignore[call-overload]
    assert [strictjson.parse(write_envelope(envelope)) for envelope in found] == list(map(strictjson.parse, lines))


@pytest.mark.req("OAP-220")
def test_every_example_that_is_shipped_is_run_by_a_test() -> None:
    """An example nobody runs is prose."""
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    assert [path.name for path in sorted(EXAMPLES.iterdir()) if path.is_file() and path.name not in tests] == []
