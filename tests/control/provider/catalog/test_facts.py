"""From a row to what a wire is made of: addresses, versions, regions, headers, and who may be asked without a key."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from sayso.control.provider.catalog.facts import Facts, address_of, facts_for
from sayso.control.provider.catalog.reading import read_catalog
from sayso.control.provider.catalog.rows import Endpoint, OAuthOrigin, Row
from sayso.control.provider.credentials.resolving import Credentials
from sayso.control.provider.credentials.store import CredentialStore
from sayso.control.provider.credentials.values import ApiKey, OAuthToken
from sayso.core.clock import SystemClock
from sayso.core.refusal import Refused
from sayso.net.fetch import Fetcher

ROWS = {row.id: row for row in read_catalog().providers}


def credentials(home: Path, **environ: str) -> Credentials:
    store = CredentialStore(home, environ)
    return Credentials(home, store, environ=environ, clock=SystemClock(), fetcher=Fetcher)


def secret(facts: Facts) -> str | None:
    assert facts.credential is not None
    return anyio.run(facts.credential)  # type: ignore[arg-type]


@pytest.mark.req("OAP-144")
@pytest.mark.parametrize(
    ("id_", "environ", "base_url", "models_url"),
    [
        ("openai", {}, "https://api.openai.com/v1", "https://api.openai.com/v1/models"),
        ("zai-coding-plan", {}, "https://api.z.ai/api/coding/paas/v4", "https://api.z.ai/api/coding/paas/v4/models"),
        ("kimi", {}, "https://api.kimi.com/coding/v1", "https://api.kimi.com/coding/v1/models"),
        ("kimi", {"KIMI_REGION": "global"}, "https://api.kimi.ai/coding/v1", "https://api.kimi.ai/coding/v1/models"),
        ("google", {}, "https://generativelanguage.googleapis.com/v1beta",
         "https://generativelanguage.googleapis.com/v1beta/models"),
        ("openai-codex", {}, "https://chatgpt.com/backend-api/codex", None),
        ("ollama", {}, "http://localhost:11434/v1", "http://localhost:11434/v1/models"),
        ("ollama", {"OLLAMA_BASE_URL": "http://127.0.0.1:9/"}, "http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1/models"),
        ("openai", {"OPENAI_BASE_URL": "https://proxy.example/v1"}, "https://proxy.example/v1",
         "https://proxy.example/v1/models"),
        ("anthropic", {"ANTHROPIC_BASE_URL": "https://proxy.example/a"}, "https://proxy.example/a/v1",
         "https://proxy.example/a/v1/models"),
        ("azure", {"AZURE_OPENAI_BASE_URL": "https://me.openai.azure.com/openai/v1"},
         "https://me.openai.azure.com/openai/v1", None),
    ],
)  # fmt: skip
def test_a_base_url_ends_where_the_wires_path_begins(
    id_: str, environ: dict[str, str], base_url: str, models_url: str | None
) -> None:
    """And the listing is the row's path behind the row's base, as text."""
    address = address_of(ROWS[id_], environ)
    assert (address.base_url, address.models_url) == (base_url, models_url)


@pytest.mark.req("OAP-144")
def test_every_static_row_has_an_address_on_each_of_its_wires() -> None:
    """No doubled version, no doubled slash."""
    for row in ROWS.values():
        for wire in row.wires if row.endpoints else ():
            found = address_of(row, {}, wire=wire)
            path = found.base_url.removeprefix("https://").removeprefix("http://")
            assert "//" not in path
            assert not any(path.endswith(f"/{one}/{two}") for one in ("v1", "v3", "v4") for two in ("v1", "v1beta"))


@pytest.mark.req("OAP-142")
@pytest.mark.parametrize(
    ("id_", "wire", "environ", "code", "place"),
    [
        ("kimi", None, {"KIMI_REGION": "moon"}, "config_invalid", "KIMI_REGION"),
        ("azure", None, {}, "config_invalid", None),
        ("openai", "anthropic-messages", {}, "unsupported_feature", None),
        ("openai", None, {"OPENAI_BASE_URL": "http://proxy.example"}, "config_invalid", "OPENAI_BASE_URL"),
    ],
)
def test_an_address_that_nobody_said_is_refused(
    id_: str, wire: str | None, environ: dict[str, str], code: str, place: str | None
) -> None:
    """A region that is none, a resource nobody named, a wire the row has not, a base URL in the clear."""
    with pytest.raises(Refused) as refused:
        address_of(ROWS[id_], environ, wire=wire)  # type: ignore[arg-type]
    assert (refused.value.refusal.code, refused.value.refusal.place) == (code, place)


@pytest.mark.req("OAP-152")
@pytest.mark.parametrize(
    ("id_", "variable", "auth"),
    [
        ("openai", "OPENAI_API_KEY", "bearer"),
        ("anthropic", "ANTHROPIC_API_KEY", "x-api-key"),
        ("anthropic", "ANTHROPIC_AUTH_TOKEN", "bearer"),
        ("google", "GEMINI_API_KEY", "x-goog-api-key"),
        ("kimi", "KIMI_API_KEY", "bearer"),
    ],
)
def test_a_key_in_the_environment_is_enough(tmp_path: Path, id_: str, variable: str, auth: str) -> None:
    """Nothing is stored, nothing is configured, and the key travels as its vendor reads it."""
    facts = facts_for(ROWS[id_], "m", credentials(tmp_path, **{variable: " k-1\n"}))
    assert (facts.auth, facts.model_ref, secret(facts)) == (auth, f"{id_}/m", "k-1")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("OAP-152")
def test_without_a_credential_only_a_row_that_needs_none_is_reached(tmp_path: Path) -> None:
    """The refusal names the variable and the command."""
    assert facts_for(ROWS["ollama"], "m", credentials(tmp_path)).credential is None
    with pytest.raises(Refused) as refused:
        facts_for(ROWS["kimi"], "m", credentials(tmp_path))
    assert refused.value.refusal.code == "credential_missing"
    assert "KIMI_API_KEY" in str(refused.value)
    assert "sayso auth login --provider kimi" in str(refused.value)


@pytest.mark.req("OAP-153")
def test_a_token_goes_where_it_says_itself_if_the_row_allows_that(tmp_path: Path) -> None:
    """The declared base URL is the row's only where the row's is the credential's."""
    held = credentials(tmp_path)
    store = CredentialStore(tmp_path, {})
    store.put("github-copilot", OAuthToken(access_token="t-1", base_url="https://tenant.example/api"))
    facts = facts_for(ROWS["github-copilot"], "m", held)
    assert (facts.base_url, facts.auth, secret(facts)) == ("https://tenant.example/api", "bearer", "t-1")
    store.put("openai-codex", OAuthToken(access_token="t-2", base_url="https://elsewhere.example"))
    assert facts_for(ROWS["openai-codex"], "m", held).base_url == "https://chatgpt.com/backend-api/codex"


@pytest.mark.req("OAP-153")
@pytest.mark.parametrize(
    ("wire", "base_url"),
    [
        ("openai-chat-completions", "https://api.githubcopilot.com"),
        ("openai-responses", "https://api.githubcopilot.com"),
        ("anthropic-messages", "https://api.githubcopilot.com/v1"),
    ],
)
def test_copilot_takes_the_sign_ins_own_token_on_each_of_its_wires(tmp_path: Path, wire: str, base_url: str) -> None:
    """As a bearer, to its own domain; nothing is exchanged for it and nothing of another program is pretended."""
    CredentialStore(tmp_path, {}).put("github-copilot", OAuthToken(access_token="gho-1"))
    facts = facts_for(ROWS["github-copilot"], "m", credentials(tmp_path), wire=wire, session="s")  # type: ignore[arg-type]
    assert (facts.base_url, facts.auth, secret(facts), facts.headers) == (base_url, "bearer", "gho-1", {})


@pytest.mark.req("OAP-153")
def test_a_token_is_not_taken_to_a_base_url_its_row_does_not_list(tmp_path: Path) -> None:
    """Refused when the facts are made, and again when the token is asked for."""
    wire = "openai-chat-completions"
    row = Row(
        id="toy", auth=("oauth",), wires=(wire,), base_url_source="static", base_url_env=("TOY_URL",),
        endpoints=(Endpoint(wire=wire, base_url="https://toy.example"),),
        oauth_origin=OAuthOrigin(exact=("https://toy.example",)),
    )  # fmt: skip
    CredentialStore(tmp_path, {}).put("toy", OAuthToken(access_token="t-1"))
    assert secret(facts_for(row, "m", credentials(tmp_path))) == "t-1"
    moved = {"TOY_URL": "https://proxy.example"}
    with pytest.raises(Refused, match=r"not sent to https://proxy.example:443"):
        facts_for(row, "m", credentials(tmp_path, **moved))
    allowed = {**moved, "SAYSO_OAUTH_ORIGINS": "toy=https://proxy.example"}
    assert secret(facts_for(row, "m", credentials(tmp_path, **allowed))) == "t-1"


@pytest.mark.req("OAP-154")
def test_facts_show_no_credential(tmp_path: Path) -> None:
    """Neither printed nor compared: the credential is something to call."""
    facts = facts_for(ROWS["openai"], "m", credentials(tmp_path, OPENAI_API_KEY="sk-secret"))
    assert "sk-secret" not in repr(facts)


@pytest.mark.req("OAP-152")
def test_another_kind_of_credential_is_not_handed_over_under_the_old_header(tmp_path: Path) -> None:
    """A key put in the place of a token would go out as the bearer it is not."""
    store = CredentialStore(tmp_path, {})
    row = ROWS["anthropic"]
    store.put("anthropic", ApiKey(key="k-1"))
    facts = facts_for(row, "m", credentials(tmp_path))
    store.put("anthropic", ApiKey(key="k-2"))
    assert secret(facts) == "k-2"
    store.put("anthropic", OAuthToken(access_token="t-1"))
    with pytest.raises(Refused, match="Another kind of credential"):
        secret(facts)
