"""Credentials out of the environment, and which of two counts."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from sayso.control.provider.catalog.rows import Row
from sayso.control.provider.credentials.environment import from_environment
from sayso.control.provider.credentials.resolving import Credentials, State
from sayso.control.provider.credentials.store import CredentialStore
from sayso.control.provider.credentials.values import ApiKey, OAuthToken
from sayso.core.clock import SystemClock
from sayso.core.refusal import Refused
from sayso.net.fetch import Fetcher

ROW = Row(id="toy", auth=("api_key",), credential_env=("FIRST_KEY", "SECOND_KEY"), bearer_env=("SECOND_KEY",))


def held(home: Path, row: Row, **environ: str) -> tuple[str, str | None] | None:
    found = credentials(home, **environ).look(row)
    return (found.source, found.variable) if found else None


def credentials(home: Path, **environ: str) -> Credentials:
    return Credentials(home, CredentialStore(home, {}), environ=environ, clock=SystemClock(), fetcher=Fetcher)


@pytest.mark.req("OAP-152")
def test_the_rows_names_are_read_in_order_and_no_others() -> None:
    """An empty variable is as good as none; white space around a key is not part of it."""
    assert from_environment(ROW, {"OTHER_KEY": "k"}) is None
    assert from_environment(ROW, {"FIRST_KEY": "  "}) is None
    both = from_environment(ROW, {"SECOND_KEY": "k-2", "FIRST_KEY": " k-1\n"})
    assert both is not None
    assert (both.variable, both.credential) == ("FIRST_KEY", ApiKey(key="k-1"))
    second = from_environment(ROW, {"FIRST_KEY": "", "SECOND_KEY": "k-2"})
    assert second is not None
    assert second.credential == ApiKey(key="k-2", is_bearer=True)


@pytest.mark.req("OAP-152", "OAP-154")
@pytest.mark.parametrize("text", ["sk secret", "sk-sécret", "sk\x00secret", "s" * 20_000])
def test_a_variable_that_holds_no_key_is_named_and_not_passed_over(text: str) -> None:
    """The next would be another account; and its text is not repeated."""
    with pytest.raises(Refused) as refused:
        from_environment(ROW, {"FIRST_KEY": text, "SECOND_KEY": "good"})
    assert (refused.value.refusal.code, refused.value.refusal.place) == ("invalid_request", "FIRST_KEY")
    assert "cret" not in str(refused.value)
    assert "sss" not in str(refused.value)


@pytest.mark.req("OAP-152")
def test_the_environment_goes_before_the_store_unless_the_row_says_otherwise(tmp_path: Path) -> None:
    """And each alone is enough."""
    stored_first = msgspec.structs.replace(ROW, credential_precedence=("stored", "environment"))
    only_stored = msgspec.structs.replace(ROW, credential_precedence=("stored",))
    assert held(tmp_path, stored_first, FIRST_KEY="k") == ("environment", "FIRST_KEY")
    CredentialStore(tmp_path, {}).put("toy", ApiKey(key="s"))
    assert held(tmp_path, ROW, FIRST_KEY="k") == ("environment", "FIRST_KEY")
    assert held(tmp_path, stored_first, FIRST_KEY="k") == ("file", None)
    assert held(tmp_path, ROW) == ("file", None)
    CredentialStore(tmp_path, {}).remove("toy")
    assert held(tmp_path, only_stored, FIRST_KEY="k") is None


@pytest.mark.req("OAP-151")
def test_how_a_provider_stands_is_told_without_asking_it(tmp_path: Path) -> None:
    """Ready, not signed in, needs none, expired for good."""
    assert credentials(tmp_path).state(ROW) == State(status="login_required")
    assert credentials(tmp_path).state(Row(id="open", auth=("none",))) == State(status="unknown")
    store = CredentialStore(tmp_path, {})
    failed = State(status="failed", source="environment", variable="FIRST_KEY")
    assert credentials(tmp_path, FIRST_KEY="no key").state(ROW) == failed
    for token, status in (
        (OAuthToken(access_token="t"), "authenticated"),
        (OAuthToken(access_token="t", expires_at=1, refresh_token="r"), "authenticated"),
        (OAuthToken(access_token="t", expires_at=1), "expired"),
    ):
        store.put("toy", token)
        assert credentials(tmp_path).state(ROW) == State(status=status, source="file")  # type: ignore[arg-type]


@pytest.mark.req("OAP-151", "OAP-152")
def test_who_is_ready_is_told_in_the_order_of_the_rows(tmp_path: Path) -> None:
    """One that needs no credential is not ready by that: nobody knows whether it is there."""
    rows = (Row(id="open", auth=("none",)), msgspec.structs.replace(ROW, id="other"), ROW)
    CredentialStore(tmp_path, {}).put("toy", ApiKey(key="s"))
    assert [row.id for row in credentials(tmp_path).ready(rows)] == ["toy"]
    assert [row.id for row in credentials(tmp_path, FIRST_KEY="k").ready(rows)] == ["other", "toy"]
