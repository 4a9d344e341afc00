"""A person's own providers: a base URL is enough, and one bad entry refuses the file by name and line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.provider.catalog.custom import CUSTOM_FILE, decode_custom
from sayso.control.provider.catalog.places import line_of
from sayso.control.provider.catalog.providers import Providers, open_providers
from sayso.control.provider.catalog.reading import read_catalog
from sayso.control.provider.catalog.rows import Catalog, Row
from sayso.core.refusal import Refused

PATH = Path("/home/me/providers.json")


def read(entries: object, catalog: Catalog | None = None) -> tuple[Row, ...]:
    return decode_custom(json.dumps({"providers": entries}).encode(), catalog or read_catalog(), PATH)


@pytest.mark.req("OAP-148")
@pytest.mark.parametrize(
    ("entry", "base_url", "carries", "listing"),
    [
        ({"base_url": "http://127.0.0.1:11434"}, "http://127.0.0.1:11434", False, "/v1/models"),
        ({"base_url": "http://localhost:8080/"}, "http://localhost:8080", False, "/v1/models"),
        ({"base_url": "http://[::1]:8000/v1/"}, "http://[::1]:8000/v1", True, "/models"),
        ({"base_url": "http://[::1]"}, "http://[::1]", False, "/v1/models"),
        ({"base_url": "http://localhost"}, "http://localhost", False, "/v1/models"),
        ({"base_url": "https://LLM_1.example:8443//"}, "https://LLM_1.example:8443", False, "/v1/models"),
        ({"base_url": "https://llm.example/openai"}, "https://llm.example/openai", True, "/models"),
        ({"base_url": "https://a.example/x", "style": "anthropic"}, "https://a.example/x", False, "/v1/models"),
        ({"base_url": "https://a.example/x/v1", "style": "anthropic"}, "https://a.example/x/v1", True, "/models"),
        ({"base_url": "https://a.example/x", "carries_version": False}, "https://a.example/x", False, "/v1/models"),
    ],
)
def test_a_base_url_alone_is_enough(entry: dict[str, object], base_url: str, carries: bool, listing: str) -> None:
    """Ollama, llama.cpp and vLLM as people write them; no credential is needed unless something names one."""
    (row,) = read({"local": entry})
    assert [(each.base_url, each.carries_version) for each in row.endpoints] == [(base_url, carries)]
    assert (row.models_endpoint, row.auth, row.id) == (listing, ("none", "api_key"), "local")


@pytest.mark.req("OAP-148")
def test_an_entry_says_more_where_it_wants_to() -> None:
    """Limits, models, a variable for a key, which is then needed."""
    entry = {"base_url": "https://llm.example/v1", "style": "openai-responses", "credential_env": ["MINE_KEY"],
             "context_window": 9, "max_tokens": 3, "models": [{"id": "m"}], "display_name": "Mine"}  # fmt: skip
    (row,) = read({"mine": entry})
    assert (row.wires, row.auth, row.credential_env) == (("openai-responses",), ("api_key",), ("MINE_KEY",))
    assert (row.name, row.context_window, row.max_tokens, row.models[0].id) == ("Mine", 9, 3, "m")


@pytest.mark.req("OAP-148")
def test_a_catalogued_id_cannot_be_taken_not_even_a_withheld_one() -> None:
    """Requests meant for the vendor would go elsewhere."""
    catalog = Catalog(providers=(Row(id="gone", status="withheld"), Row(id="here")))
    for id_ in ("gone", "here"):
        with pytest.raises(Refused, match=f"the provider `{id_}`: this id is in the catalog"):
            read({id_: {"base_url": "http://localhost:1"}}, catalog)
    assert [row.id for row in Providers(catalog).offered] == ["here"]
    with pytest.raises(Refused) as refused:
        Providers(catalog).find("gone")
    assert refused.value.refusal.code == "unknown_provider"


@pytest.mark.req("OAP-148", "OAP-153")
def test_a_vendors_key_is_not_lent_to_an_entry() -> None:
    """The variable of a catalogued row names one vendor's key."""
    with pytest.raises(Refused, match="OPENAI_API_KEY holds the key of openai"):
        read({"mine": {"base_url": "https://llm.example", "credential_env": ["OPENAI_API_KEY"]}})
    oauth = {"token_endpoint": "https://llm.example/t", "device_endpoint": "https://llm.example/d"}
    origin = {"oauth_origin": {"exact": ["https://llm.example"]}}
    entry = {"base_url": "https://llm.example", **origin, "oauth": {**oauth, "client_id_env": "OPENAI_API_KEY"}}
    with pytest.raises(Refused, match="OPENAI_API_KEY holds the key of openai"):
        read({"mine": entry})
    entry["oauth"] = {**oauth, "client_id_env": "MINE_CLIENT"}
    assert read({"mine": entry})[0].id == "mine"


@pytest.mark.req("OAP-148")
@pytest.mark.parametrize("id_", ["models", "zai-cn", "sayso-offline"])
def test_an_id_that_means_something_else_is_not_taken(id_: str) -> None:
    """A command would show something else under it, or two providers would have one name."""
    with pytest.raises(Refused, match="means something else"):
        read({id_: {"base_url": "http://localhost:1"}})


GOOD = b'{\n "providers": {\n  "good": {"base_url": "http://localhost:1"},\n  "bad": {\n%s\n  }\n }\n}'


@pytest.mark.req("OAP-148")
@pytest.mark.parametrize(
    ("member", "said", "line"),
    [
        (b'"base_url": "http://llm.example"', "plain http goes to this machine only", 5),
        (b'"base_url": "ftp://x"', "begins with http", 5),
        (b'"base_url": "https://u:p@x.example"', "no user", 5),
        (b'"base_url": "https://x.example/?k=1"', "no user, query", 5),
        (b'"base_url": "https://x.example:99999"', "no URL", 5),
        (b'"base_url": "https://${HOST}/v1"', "variables are not filled in", 5),
        (b'"base_url": "https://x.example%2f.y.example"', "neither a name nor an address", 5),
        (b'"base_url": "http://[::1%25eth0]:1"', "neither a name nor an address", 5),
        (b'"base_url": "https://x..example"', "neither a name nor an address", 5),
        (b'"base_url": "https://x.example/v1/chat/completions/"', "ends before /chat/completions", 5),
        (b'"base_url": "https://x.example/\\u000a"', "begins with http", 5),
        (b'"base_url": 7', "Expected `str`", 5),
        (b'\n"style": "smoke",\n"base_url": "https://x.example"', "Invalid enum value 'smoke'", 6),
        (b'"base_url": "https://x.example",\n"api_key": "sk-1"', "unknown field `api_key`", 4),
        (b'"base_url": "https://x.example", "display_name": "a\\u001b[2J"', "characters that do not show", 4),
        (b'"base_url": "https://x.example", "models": [{"id": "a\\u202eb"}]', "characters that do not show", 4),
        (b'"models": [{"id": 1}], "base_url": "https://x.example"', "Expected `str`", 5),
        (b'"style": "openai"', "missing required field `base_url`", 4),
    ],
)
def test_one_bad_entry_refuses_the_file_by_name_and_line(member: bytes, said: str, line: int) -> None:
    """The good one beside it is not used either, and the refusal is one that a command starts with."""
    with pytest.raises(Refused) as refused:
        decode_custom(GOOD % member, read_catalog(), PATH)
    refusal = refused.value.refusal
    assert (refusal.code, refusal.place) == ("config_invalid", f"{PATH} line {line}")
    assert "the provider `bad`" in refusal.message
    assert said in refusal.message
    assert "u:p" not in str(refused.value)


@pytest.mark.req("OAP-148")
@pytest.mark.parametrize("id_", ["", "Upper", "-x", "a b", "x\n", "x" * 65, "é"])
def test_an_id_is_plain(id_: str) -> None:
    """It stands in commands, file names and model references."""
    with pytest.raises(Refused, match="an id is lower-case"):
        read({id_: {"base_url": "http://localhost:1"}})


@pytest.mark.req("OAP-148")
@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"{", "line 1 column 1"),
        (b'{\n"providers": {},\n"providers": {}}', "line 3"),
        (b'{"providers": []}', "line 1"),
        (b'{"providers": {}, "more": 1}', "line 1"),
        (b"[]", "line 1"),
        (b" " * 1_048_577, ""),
    ],
)
def test_a_file_of_another_form_is_refused(data: bytes, place: str) -> None:
    """With its line where there is one."""
    with pytest.raises(Refused) as refused:
        decode_custom(data, read_catalog(), PATH)
    assert refused.value.refusal.code == "config_invalid"
    assert place in str(refused.value.refusal.place)


@given(st.binary(max_size=200))
def test_whatever_the_bytes_are_the_answer_is_rows_or_a_refusal(data: bytes) -> None:
    """No other exception leaves the reader."""
    try:
        rows = decode_custom(data, read_catalog(), PATH)
    except Refused as refused:
        rows = refused.refusal.code
    assert rows in ((), "config_invalid")


@pytest.mark.req("OAP-148")
def test_a_home_offers_the_catalog_then_its_own(tmp_path: Path) -> None:
    """No file is no entry; a file is read each time."""
    assert open_providers(tmp_path).custom == ()
    (tmp_path / CUSTOM_FILE).write_text('{"providers": {"local": {"base_url": "http://localhost:1"}}}')
    known = open_providers(tmp_path)
    assert [row.id for row in known.offered][-1] == "local"
    assert known.is_custom(known.find("local"))
    assert not known.is_custom(known.find("kimi"))
    with pytest.raises(Refused, match="Did you mean kimi"):
        known.find("kimy")


def test_the_line_of_a_member_is_found_within_its_own_object() -> None:
    """The same name elsewhere is another member."""
    data = b'{"b": 1,\n"a": {"b": [\n{"c": "b"}],\n"b2": 2}}'
    assert [line_of(data, path) for path in (["b"], ["a", "b[0]"], ["a", "b2"], ["x"], [])] == [1, 2, 4, 1, 1]
