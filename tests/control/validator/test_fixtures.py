"""Every trace with a known verdict: upstream's hundred and twenty, our own for each code, and the worked pack."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sayso.control.validator.diagnostics import DIAGNOSTICS, Phase
from sayso.control.validator.judging import judge
from sayso.control.validator.pack_loading import load_packs, read_fixtures
from sayso.control.validator.shipped import FIXTURES, STORAGE, differences, own_fixtures, verdict_of


def rows(shared: Path) -> list[dict[str, Any]]:
    folder = shared / "oap" / "fixtures"
    return [row for name in ("positive", "negative") for row in json.loads((folder / f"index-{name}.json").read_text())]


def expected(row: dict[str, Any]) -> tuple[list[str], list[str]]:
    return sorted(row["codes"]), [row["phase"]] if row["codes"] else []


@pytest.mark.req("OAP-022", "OAP-023", "OAP-027", "OAP-028")
def test_every_upstream_fixture_gets_exactly_its_phase_and_codes(shared: Path) -> None:
    """All of them, positive and negative, both profiles: nothing missed and nothing invented."""
    found, wanted = {}, {}
    for row in rows(shared):
        data = (shared / "oap" / "fixtures" / row["path"]).read_bytes()
        profile = row.get("profile", "agent-control-core")
        report = judge(data, mode=row.get("mode", "strict"), profile=profile)
        codes, phases = [each.code for each in report.diagnostics], {each.phase for each in report.diagnostics}
        found[row["id"]], wanted[row["id"]] = (sorted(codes), sorted(phases)), expected(row)
    assert found == wanted
    assert len(found) == 120


@pytest.mark.req("OAP-021", "OAP-025")
def test_the_command_says_the_same_of_every_upstream_fixture(shared: Path) -> None:
    """One call for each way of judging, its answer read as the JSON it promises."""
    ways: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows(shared):
        provider = ["--provider"] if row.get("profile") == "model-provider-core" else []
        ways.setdefault((*provider, "--mode", row.get("mode", "strict")), []).append(row)
    for options, some in ways.items():
        paths = [str(shared / "oap" / "fixtures" / row["path"]) for row in some]
        command = [sys.executable, "-m", "sayso", "validate", "--format", "json", *options, *paths]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode == int(any(row["codes"] for row in some))
        told = json.loads(done.stdout)
        assert [each["file"] for each in told] == paths
        for row, each in zip(some, told, strict=True):
            phases = sorted({one["phase"] for one in each["diagnostics"]})
            assert (sorted(one["code"] for one in each["diagnostics"]), phases) == expected(row)
            assert each["valid"] == (not row["codes"])


@pytest.mark.req("OAP-027", "OAP-029", "OAP-030", "OAP-034")
@pytest.mark.parametrize("fixture", own_fixtures(), ids=lambda fixture: fixture.id)
def test_every_fixture_of_ours_gets_its_verdict_at_its_place(fixture: Any) -> None:
    """Phase, code and the index of the envelope, in order; a sound one gets nothing."""
    assert verdict_of(fixture) == fixture.expected


@pytest.mark.req("OAP-027")
def test_our_fixtures_show_every_code_there_is() -> None:
    """A code nothing shows could be dead text; one that is shown and not registered would have no meaning."""
    shown = {code for fixture in own_fixtures() for code in fixture.codes}
    assert shown == set(DIAGNOSTICS)
    assert len(DIAGNOSTICS) == 78


@pytest.mark.req("OAP-027")
def test_the_registry_is_the_specifications_set(shared: Path) -> None:
    """No code of our own making, and none left out."""
    listed = json.loads((shared / "oap" / "fixtures" / "diagnostic-codes.json").read_text())
    assert set(DIAGNOSTICS) == {row["code"] for row in listed}


def test_every_code_is_found_in_its_own_phase() -> None:
    """A load refusal is never said of a trace, and no trace's fault of a pack's document."""
    for fixture in own_fixtures():
        phases = {DIAGNOSTICS[code].phase for code in fixture.codes}
        assert phases in (set(), {Phase(fixture.phase)} if fixture.phase else set())
        assert (fixture.kind == "pack") == (fixture.path.startswith("packs/"))


def test_every_shipped_file_is_a_fixture() -> None:
    """A trace outside the index would be judged by nobody."""
    listed = {fixture.path for fixture in own_fixtures() if fixture.kind == "trace"}
    assert {f"traces/{path.name}" for path in (FIXTURES / "traces").iterdir()} == listed


@pytest.mark.req("OAP-036")
def test_the_worked_pack_shows_a_gate_and_an_honour_for_every_key() -> None:
    """Positive rows, and for each of its keys one that uses it unadvertised and one that denies it advertised."""
    keys = {"dev.sayso.storage.objects", "dev.sayso.storage.attachments"}
    shown = {(row.capability, row.aspect) for row in read_fixtures(STORAGE) if not row.valid}
    assert {(key, aspect) for key in keys for aspect in ("gate", "honour")} <= shown
    assert {unit for row in read_fixtures(STORAGE) for unit in row.units} == {"ext:dev.sayso.storage/1.0.0"}
    assert differences() == []


@pytest.mark.req("OAP-033", "OAP-035")
def test_without_its_pack_a_foreign_type_is_unknown() -> None:
    """Accepted on its common members in tolerant mode, invalid in strict, judged by its branch once loaded."""
    data = (STORAGE / "traces" / "read-an-object.jsonl").read_bytes()
    misshapen = (STORAGE / "traces" / "read-of-nothing.jsonl").read_bytes()
    packs = load_packs([STORAGE])
    assert [each.code for each in judge(data).diagnostics] == ["schema_invalid"] * 3
    assert judge(data, mode="tolerant").valid
    assert judge(misshapen, mode="tolerant").valid
    assert judge(data, packs=packs).valid
    assert [each.index for each in judge(misshapen, packs=packs, mode="tolerant").diagnostics] == [2]


@pytest.mark.req("OAP-035")
def test_a_loaded_pack_changes_no_verdict_on_the_core(shared: Path) -> None:
    """Every upstream fixture once more, with a pack loaded."""
    packs = load_packs([STORAGE])
    for row in rows(shared):
        data = (shared / "oap" / "fixtures" / row["path"]).read_bytes()
        if row.get("profile") is None:
            mode = row.get("mode", "strict")
            assert judge(data, mode=mode, packs=packs) == judge(data, mode=mode)
