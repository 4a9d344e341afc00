"""The shipped catalog: its ids, their order, and that schema and reader agree on what a catalog is."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest

from sayso.control.provider.catalog import reading
from sayso.control.provider.catalog.reading import CATALOG_FILE, SCHEMA_FILE, decode_catalog, read_catalog, shipped
from sayso.control.provider.catalog.schema import catalog_schema
from sayso.core.refusal import Refused
from sayso.testing.breaks import read_text

ROOT = Path(__file__).resolve().parents[4]

IDS = [
    *("openai", "anthropic", "opencode-zen", "opencode-go", "openrouter", "deepseek", "zai-coding-plan", "kimi"),
    *("openai-codex", "alibaba-coding-plan", "minimax-coding-plan", "tencent-coding-plan", "volcengine-coding-plan"),
    *("xiaomi-token-plan-cn", "xiaomi-token-plan-sgp", "xiaomi-token-plan-ams", "xiaomi", "deepinfra", "vercel"),
    *("zenmux", "ollama", "azure", "github-copilot", "google"),
]
ROW = {"id": "toy", "wires": ["anthropic-messages"], "base_url_source": "static",
       "endpoints": [{"wire": "anthropic-messages", "base_url": "https://toy.example"}]}  # fmt: skip


@pytest.mark.req("OAP-140", "OAP-141", "OAP-143")
def test_there_are_24_rows_and_the_current_ones_come_first_in_their_order() -> None:
    """Nine are current: the eight of the list, one of them with its sibling."""
    rows = decode_catalog(read_text(ROOT, Path(reading.__file__).with_name(CATALOG_FILE)).encode()).providers
    assert [row.id for row in rows] == IDS
    assert [row.status for row in rows] == ["current"] * 9 + ["supported"] * 15


@pytest.mark.req("OAP-140", "OAP-142")
def test_the_shipped_schema_is_the_one_the_rows_print_and_the_catalog_keeps_it() -> None:
    """No second opinion of the shape exists."""
    assert json.loads(shipped(SCHEMA_FILE)) == catalog_schema()
    jsonschema_rs.validator_for(catalog_schema()).validate(json.loads(shipped(CATALOG_FILE)))


@pytest.mark.req("OAP-140")
def test_catalog_and_schema_lie_beside_the_code_that_reads_them() -> None:
    """The wheel takes every file under the package, so what is beside the reader is what is installed."""
    folder = Path(reading.__file__).parent
    assert {CATALOG_FILE, SCHEMA_FILE} <= {path.name for path in folder.iterdir()}


@pytest.mark.req("OAP-142", "OAP-143", "OAP-146")
@pytest.mark.parametrize(
    "change",
    [
        {"id": 7}, {"id": ""}, {"id": "Toy Shop"}, {"offering": "gift"}, {"status": "retired"}, {"auth": ["password"]},
        {"wires": ["smoke-signals"]}, {"base_url_source": "guess"}, {"credential_env": ["lower"]}, {"api_key": "x"},
        {"models_endpoint": "models"}, {"context_window": 0}, {"max_context_window": 1.5}, {"docs": "ftp://x"},
        {"models": [{"name": "no id"}]}, {"endpoints": [{"wire": "anthropic-messages"}]},
        {"endpoints": [{"wire": "anthropic-messages", "base_url": "https://toy.example/"}]},
        {"oauth_origin": {"exact": ["https://toy.example/path"]}}, {"credential_precedence": ["guess"]},
    ],
)  # fmt: skip
def test_schema_and_reader_refuse_the_same_rows(change: dict[str, object]) -> None:
    """A malformed row, an unknown offering, status, kind or member."""
    document = {"providers": [{**ROW, **change}]}
    assert not jsonschema_rs.validator_for(catalog_schema()).is_valid(document)
    with pytest.raises(Refused) as refused:
        decode_catalog(json.dumps(document).encode())
    assert refused.value.refusal.code == "schema_invalid"


@pytest.mark.req("OAP-142")
def test_a_row_of_an_id_alone_is_a_row_and_everything_else_is_unknown() -> None:
    """Absent is unknown: nothing is filled in but the status, which has a rule."""
    row = decode_catalog(b'{"providers": [{"id": "bare"}]}').providers[0]
    assert (row.status, row.auth, row.wires, row.offering, row.docs) == ("supported", (), (), None, None)
    assert (row.name, row.is_offered, row.precedence) == ("bare", True, ("environment", "stored"))


@pytest.mark.req("OAP-145")
def test_the_two_openai_rows_say_how_far_a_window_may_be_raised() -> None:
    """And no other row does."""
    said = {row.id: row.max_context_window for row in read_catalog().providers if row.max_context_window}
    assert said == {"openai": 1_000_000, "openai-codex": 1_000_000}


@pytest.mark.req("OAP-154")
def test_no_row_holds_a_credential_and_every_variable_is_only_a_name() -> None:
    """A client id is a variable too: none of another product's is borrowed."""
    for row in read_catalog().providers:
        assert row.oauth is None or (row.oauth.client_id is None and row.oauth.client_id_env)
        assert all(name.isupper() for name in row.credential_env)
