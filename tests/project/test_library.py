"""The library guide: a part for every public module, and every example in it run as a reader would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sayso.apps.checks.modules import PUBLIC

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "library.md").read_text()
EXAMPLES = re.findall(r"^## sayso\.(\w+):.*?```python\n(.*?)```\n\n```text\n(.*?)```", GUIDE, re.DOTALL | re.MULTILINE)


@pytest.mark.req("OAP-207", "OAP-219")
def test_the_guide_has_a_part_for_every_public_module() -> None:
    """What it is for, and an example: in the guide, or a file that another test runs."""
    parts = dict(re.findall(r"^## sayso\.(\w+): (.*?)(?=^## |\Z)", GUIDE, re.DOTALL | re.MULTILINE))
    assert set(parts) == set(PUBLIC)
    assert [name for name, text in parts.items() if "```python" not in text and "docs/examples/" not in text] == []
    assert [name for name, _code, _printed in EXAMPLES] == [name for name, text in parts.items() if "```python" in text]


@pytest.mark.req("OAP-207", "OAP-220")
@pytest.mark.parametrize(("name", "code", "printed"), EXAMPLES, ids=[name for name, _, _ in EXAMPLES])
def test_an_example_prints_what_the_guide_shows(name: str, code: str, printed: str, tmp_path: Path) -> None:
    """It uses its own module and other public ones, and nothing else of ours."""
    used = set(re.findall(r"^(?:from|import) (sayso\.[\w.]+)", code, re.MULTILINE))
    assert f"sayso.{name}" in used <= {f"sayso.{each}" for each in PUBLIC}
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environ = {**os.environ, "PATH": path, "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")
