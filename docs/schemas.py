"""Prints our JSON Schemas beside their code: `python -m docs.schemas`; with `--check`, tells which are stale."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sayso.control.protocol import schema
from sayso.control.protocol.schema.printing import documents

FOLDER = Path(schema.__file__).parent


def printed() -> dict[Path, str]:
    """The text of every file."""
    return {FOLDER / name: json.dumps(document, indent=2) + "\n" for name, document in documents().items()}


def main() -> int:
    check = "--check" in sys.argv[1:]
    stale = [(path, text) for path, text in printed().items() if not path.exists() or path.read_text() != text]
    for path, text in stale:
        if not check:
            path.write_text(text)
        print(f"{'out of date' if check else 'written'}: {path.name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
