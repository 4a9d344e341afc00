"""`sayso host contacts`: the list of who may book, edited at the host."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from sayso.apps.cli.host import host
from sayso.core.refusal import Refused

KIM = f"urn:schcp:principal:jwk-thumbprint:{'k' * 43}"
SETTINGS = """
id = "studio"
domain = "studio.example"
title = "Studio"
timezone = "America/Toronto"
contact = { phone = "+1 416 555 0111" }

[policies]
access = "contacts"

[[services]]
id = "lesson"
title = "Lesson"
duration = "PT1H"
needs = ["room"]

[[units]]
id = "room-1"
type = "room"
hours = { mon = ["09:00-17:00"] }
"""


def run(home: Path, *arguments: str) -> str:
    done = CliRunner().invoke(host, [*arguments, "--home", str(home)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.req("SCH-267", "SCH-038")
def test_contacts_are_added_listed_and_taken_off_at_the_host(tmp_path: Path) -> None:
    """By the name the host has for them; a text that is no principal is refused."""
    settings, home = tmp_path / "studio.toml", tmp_path / "home"
    settings.write_text(SETTINGS)
    run(home, "init", str(settings), "--unprotected")
    run(home, "contacts", "add", KIM, "Kim L.")
    assert f"Kim L.  {KIM}" in run(home, "contacts", "list")
    run(home, "contacts", "remove", KIM)
    assert "Kim" not in run(home, "contacts", "list")
    with pytest.raises(Refused) as caught:
        run(home, "contacts", "add", "kim@example.com", "Kim")
    assert caught.value.refusal.code == "not_a_principal"
