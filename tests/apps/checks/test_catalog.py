"""What `sayso check` says of the provider catalog: nothing here, and every fault of another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sayso.apps.checks.catalog import catalog, catalogued_urls, spelt_elsewhere
from sayso.control.provider.catalog.reading import read_catalog

CATALOG = {
    "providers": [
        {
            "id": "toy",
            "wires": ["anthropic-messages"],
            "base_url_source": "static",
            "endpoints": [{"wire": "anthropic-messages", "base_url": "https://api.toy.example/v1"}],
        }
    ]
}


def judged(tmp_path: Path, **change: object) -> tuple[str, ...]:
    row = {**CATALOG["providers"][0], **change}
    return catalog(json.dumps({"providers": [row]}).encode(), folder=tmp_path).faults


@pytest.mark.req("OAP-140", "OAP-146")
def test_this_build_is_good() -> None:
    """24 rows, their schema, and no address of theirs anywhere in the source."""
    found = catalog()
    assert (found.faults, found.looked) == ((), "24 providers, 4 presets")


@pytest.mark.req("OAP-146")
def test_a_malformed_row_an_unknown_word_and_a_doubled_id_are_faults(tmp_path: Path) -> None:
    """Each by its place or its id."""
    assert judged(tmp_path) == ()
    for change in ({"offering": "gift"}, {"status": "retired"}, {"colour": "red"}, {"id": 3}):
        (fault,) = judged(tmp_path, **change)
        assert fault.startswith("catalog.json cannot be used")
        assert "$.providers[0]" in fault
    twice = {"providers": CATALOG["providers"] * 2}
    assert catalog(json.dumps(twice).encode(), folder=tmp_path).faults == ("toy stands twice",)
    assert judged(tmp_path, endpoints=[]) == ("toy: base_url_source is static and there is no endpoint",)
    assert catalog(b"{", folder=tmp_path).faults[0].startswith("catalog.json cannot be used")


@pytest.mark.req("OAP-146")
def test_a_schema_that_says_something_else_is_a_fault(tmp_path: Path) -> None:
    """It is printed from the rows, or it is wrong."""
    found = catalog(json.dumps(CATALOG).encode(), b"{}", folder=tmp_path)
    assert found.faults == ("catalog.schema.json is not what the rows say",)


@pytest.mark.req("OAP-146")
def test_a_catalogued_address_spelt_in_source_is_a_fault(tmp_path: Path) -> None:
    """In a plain literal, inside a longer one, or in the fixed part of a formatted one; not in a comment."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "one.py").write_text(
        '# https://api.toy.example/v1\nA = "https://api.toy.example/v1"\nB = f"https://api.toy.example/v1/{A}"\n'
    )
    (tmp_path / "two.py").write_text('A = "https://other.example"\n')
    url = "https://api.toy.example/v1"
    assert spelt_elsewhere([url], tmp_path) == [
        f"inner/one.py:2: `{url}` belongs in catalog.json alone",
        f"inner/one.py:3: `{url}` belongs in catalog.json alone",
    ]
    assert judged(tmp_path) == tuple(spelt_elsewhere([url], tmp_path))


@pytest.mark.req("OAP-146")
def test_every_kind_of_address_in_the_catalog_is_looked_for() -> None:
    """Base URLs, presets, sign-in endpoints, models.dev."""
    urls = catalogued_urls(read_catalog())
    assert {
        "https://api.openai.com",
        "https://api.kimi.ai/coding",
        "https://open.bigmodel.cn/api/anthropic",
        "https://auth.openai.com/oauth/token",
        "https://github.com/login/device/code",
        "https://models.dev/api.json",
    } <= urls
