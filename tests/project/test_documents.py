"""Documents are run: what a reader types is what the suite typed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sayso.apps.cli.main import COMMANDS
from sayso.apps.settings import Settings
from sayso.testing.console import console_blocks, normalise, run_block

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BIN = str(Path(sys.executable).parent)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_console_blocks_print_what_the_document_shows(document: Path, tmp_path: Path) -> None:
    """Blocks of one document share a home, as a reader who follows it from the top would."""
    for block in console_blocks(document.read_text()):
        shown = [(command, normalise(printed)) for command, printed in block.steps]
        assert [(c, normalise(p)) for c, p in run_block(block, tmp_path, BIN)] == shown, f"line {block.line}"


def test_the_readme_shows_something_to_type() -> None:
    """A runner that finds no block proves nothing."""
    assert len(list(console_blocks((ROOT / "README.md").read_text()))) >= 3


@pytest.mark.req("SCH-386")
def test_what_documents_print_is_what_the_code_says() -> None:
    """Tables, help texts, kinds and schemas are printed from the code; a stale one fails here."""
    done = subprocess.run(
        [sys.executable, "-m", "docs.build", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_every_command_and_setting_has_its_place_in_the_documents() -> None:
    """Nothing a person can set or call is left out."""
    text = (ROOT / "docs" / "commands.md").read_text()
    missing = [name for name in COMMANDS if f"### sayso {name}" not in text]
    missing += [name for name in Settings.__struct_fields__ if f"| `{name}` |" not in text]
    named = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in re.findall(r'"(SAYSO_[A-Z_]*[A-Z])"', path.read_text())
    }
    missing += [name for name in named if not name.startswith("SAYSO_TEST_") and f"| `{name}` |" not in text]
    assert missing == []
