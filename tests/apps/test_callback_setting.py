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


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            'callback_url = "http://me.example"',
            'callback_url is an https address in lower case without port, like "https://me.example/heard"',
        ),
        (
            'keyapp_origin = "https://keys.example/"',
            'keyapp_origin is an https address in lower case without port or path, like "https://keys.example"',
        ),
        ('contact = "ring me"', "contact is one telephone number or one e-mail address, and nothing else"),
        ('name = ""', "name is a name, up to 200 characters on one line"),
        ("zone = 5", "Expected `str | null`, got `int` - at `$.zone`"),
    ],
)
def test_what_is_wrong_is_said_in_words_and_not_as_a_pattern(tmp_path: Path, line: str, said: str) -> None:
    """Whoever edits the file learns how the value is written."""
    (tmp_path / "settings.toml").write_text(line + "\n")
    with pytest.raises(Refused) as caught:
        read_settings(tmp_path)
    assert caught.value.refusal.message == f"{tmp_path / 'settings.toml'} cannot be read: {said}"
