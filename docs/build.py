"""Prints what the code knows into the documents: `python -m docs.build`; with `--check`, tells which are stale.

A printed place stands between `<!-- printed: name -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from docs.printed import PRINTED
from sayso.testing.console import with_fresh_blocks

ROOT = Path(__file__).resolve().parents[1]
PLACE = re.compile(r"(<!-- printed: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_printed(document: str, printed: dict[str, Callable[[], str]]) -> str:
    """The document with each marked place filled afresh; an unknown name is an error."""
    return PLACE.sub(lambda found: f"{found[1]}{printed[found[2]]()}{found[3]}", document)


def main() -> int:
    check = "--check" in sys.argv[1:]
    stale = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        before = path.read_text()
        after = with_printed(before, PRINTED)
        if not check:
            with tempfile.TemporaryDirectory() as home:
                after = with_fresh_blocks(after, Path(home), str(Path(sys.executable).parent))
        if after != before:
            stale.append(str(path.relative_to(ROOT)))
            if not check:
                path.write_text(after)
    for name in stale:
        print(f"{'out of date' if check else 'written'}: {name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
