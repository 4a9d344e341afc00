"""What a person tells of themselves from the command line, with what their settings say of them."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from sayso.apps.cli.guest_about import about_you
from sayso.apps.cli.options import home_option, world_option
from sayso.core import strictjson
from sayso.world.places import make_world_folder

SETTINGS = 'name = "Dana Whitfield"\ncontact = "dana@bigco.example"\n'


@click.command()
@about_you
@world_option
@home_option
def tell(details, home, world):
    """Says what a host would be told."""
    click.echo(strictjson.encode(details))


def told(home: Path, *arguments: str):
    return CliRunner().invoke(tell, ["--home", str(home), *arguments])


@pytest.mark.req("SCH-207")
@pytest.mark.parametrize("is_world", [False, True])
def test_a_contact_alone_goes_with_the_name_of_the_settings(tmp_path: Path, is_world: bool) -> None:
    """And who comes, with both; a name given by hand takes nothing from them."""
    folder = make_world_folder(tmp_path) if is_world else tmp_path
    (folder / "settings.toml").write_text(SETTINGS)
    where = ("--world",) if is_world else ()
    dana = {"name": "Dana Whitfield", "contact": "dana@bigco.example"}
    for given, expected in (
        ((), None),
        (("--contact", "+1 416 555 0110"), {**dana, "contact": "+1 416 555 0110"}),
        (("--for", "Lee"), {**dana, "attendee": "Lee"}),
        (("--name", "Sam"), {"name": "Sam"}),
    ):
        assert strictjson.parse(told(tmp_path, *where, *given).output.strip().encode()) == expected


@pytest.mark.req("SCH-207")
def test_without_a_name_anywhere_it_is_asked_for(tmp_path: Path) -> None:
    """Nobody is told a number without whose it is."""
    done = told(tmp_path, "--contact", "+1 416 555 0110")
    assert done.exit_code == 2
    assert "go with --name, or with a name in settings.toml: who is it?" in done.output
