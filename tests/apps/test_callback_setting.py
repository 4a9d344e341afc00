"""Where hosts may tell a guest anything: one https address, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from sayso.apps.settings import read_settings
from sayso.core.refusal import Refused


@pytest.mark.parametrize("url", ["https://assistant.example", "https://assistant.example/heard/by-me"])
def test_an_https_address_is_taken_as_it_is(tmp_path: Path, url: str) -> None:
    """With a path or without one."""
    (tmp_path / "settings.toml").write_text(f'callback_url = "{url}"\n')
    assert read_settings(tmp_path).callback_url == url


@pytest.mark.parametrize(
    "url",
    ["http://assistant.example/x", "https://me@assistant.example/x", "https://Assistant.example", "assistant.example"],
)
def test_anything_else_is_refused_before_it_reaches_a_host(tmp_path: Path, url: str) -> None:
    """Hosts would refuse to deliver there, and nobody would know why."""
    (tmp_path / "settings.toml").write_text(f'callback_url = "{url}"\n')
    with pytest.raises(Refused) as caught:
        read_settings(tmp_path)
    assert caught.value.refusal.code == "settings_invalid"
