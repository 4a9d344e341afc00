"""Each part of `sayso check` finds the fault it is for, and finds none here."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from sayso.apps.checks import fixtures, literals, modules, reference, schemas
from sayso.control.validator.shipped import FIXTURES

TRACE = (FIXTURES / "traces" / "number-left-out.jsonl").read_bytes()


@pytest.mark.req("OAP-031", "OAP-207", "OAP-219")
@pytest.mark.parametrize(
    "part", [fixtures.own, reference.reference, schemas.schemas, literals.literals, modules.modules]
)
def test_this_build_is_good(part: object) -> None:
    """Nothing is wrong, and something was looked at."""
    found = part()  # type: ignore[operator]
    assert (found.faults, found.skipped) == ((), None)
    assert int(found.looked.split(" ")[0]) > 4


@pytest.mark.req("OAP-031")
def test_a_verdict_that_is_not_the_indexed_one_is_a_fault(tmp_path: Path) -> None:
    """One row that is right, one that is wrong, judged by what the index says."""
    (tmp_path / "a.jsonl").write_bytes(TRACE)
    row = {"path": "a.jsonl", "phase": "semantic", "valid": False}
    rows = [{**row, "id": "right", "codes": ["sequence_gap"]}, {**row, "id": "wrong", "codes": ["scope_mismatch"]}]
    (tmp_path / "index-negative.json").write_text(json.dumps(rows))
    (tmp_path / "index-positive.json").write_text("[]")
    found = fixtures.upstream(tmp_path)
    assert found.faults == ("wrong: expected ['scope_mismatch'], found ['sequence_gap']",)


@pytest.mark.req("OAP-031")
def test_fixtures_that_are_not_there_are_skipped_and_an_empty_index_is_a_fault(tmp_path: Path) -> None:
    """Nothing to judge is no good verdict."""
    for name in ("index-negative.json", "index-positive.json"):
        (tmp_path / name).write_text("[]")
    assert fixtures.upstream(tmp_path).faults == ("the index is empty",)
    assert fixtures.upstream(tmp_path / "none").faults
    skipped = fixtures.upstream(None)
    assert (skipped.is_good, skipped.skipped) == (True, "upstream's fixtures are not beside this checkout")


@pytest.mark.req("OAP-031", "OAP-219")
def test_a_name_in_no_table_is_found_where_it_stands(tmp_path: Path) -> None:
    """A type, a capability key and a code that are mistyped; what is no name of the protocol is left alone."""
    source = 'a = "run.streming"\nb = "run.streaming"\nraise Refused.because("no_such_code", "why")\nc = "os.path"\n'
    (tmp_path / "one.py").write_text(source)
    assert literals.literals(tmp_path).faults == (
        "one.py:1: `run.streming` is no type and no capability key",
        "one.py:3: the code `no_such_code` is not registered",
    )


@pytest.mark.req("OAP-207")
def test_a_module_in_neither_list_is_a_fault(tmp_path: Path) -> None:
    """Somebody has to decide; and a public one has to be there."""
    (tmp_path / "surprise.py").write_text("")
    (tmp_path / "client.py").write_text("")
    found = modules.modules({"client": "", "gone": ""}, frozenset(), [str(tmp_path)])
    assert found.faults == ("sayso.surprise is neither public nor internal", "sayso.gone is public and not there")


@pytest.mark.req("OAP-207")
def test_a_public_module_offers_exactly_what_it_has() -> None:
    """A name too many, one too few, one twice, and no tuple at all."""
    module = ModuleType("sayso.example")
    assert modules.not_exact(module) == ["sayso.example has no tuple `__all__`"]
    vars(module).update(__all__=("there", "there", "gone"), there=1, hidden=2, _private=3)
    assert modules.not_exact(module) == [
        "sayso.example.gone is offered and not there",
        "sayso.example.hidden is there and not offered",
        "sayso.example offers a name twice",
    ]


@pytest.mark.req("OAP-031")
def test_a_schema_that_drifted_is_a_fault(tmp_path: Path) -> None:
    """Changed, gone, or left over."""
    for path in schemas.FOLDER.glob("*.json"):
        shutil.copy(path, tmp_path)
    assert schemas.schemas(tmp_path).faults == ()
    document = json.loads((tmp_path / "run.schema.json").read_text())
    (tmp_path / "run.schema.json").write_text(json.dumps({**document, "title": "another"}))
    (tmp_path / "auth.schema.json").unlink()
    (tmp_path / "old.schema.json").write_text("{}")
    assert set(schemas.schemas(tmp_path).faults) == {
        "run.schema.json is not what the payloads say",
        "auth.schema.json is not what the payloads say",
        "old.schema.json belongs to nothing",
    }
