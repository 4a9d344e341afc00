"""Every example of the guide's part about the SDK, not only its first, prints what stands below it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = (Path(__file__).resolve().parents[3] / "docs" / "library.md").read_text()
PART = GUIDE.partition("## sayso.sdk:")[2].partition("\n## ")[0]
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PART, re.DOTALL)


@pytest.mark.req("OAP-200", "OAP-220")
@pytest.mark.parametrize(("code", "printed"), EXAMPLES)
def test_an_example_of_the_sdk_prints_what_the_guide_shows(code: str, printed: str, tmp_path: Path) -> None:
    """With the installed command, and a home that is new."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environ = {**os.environ, "PATH": path, "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")
    assert len(EXAMPLES) == 3
