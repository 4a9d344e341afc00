"""The terminal UI as a process of its own: `worker.py opens|breaks|BACKEND HOME [RESUME]`."""

from __future__ import annotations

import sys
from pathlib import Path

from sayso.apps.tui.launch import Launch, launch

if __name__ == "__main__":
    what, home, resume = sys.argv[1], Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None
    if what in ("opens", "breaks"):
        opener = f"tests.apps.tui.own_seat:{what}"
        raise SystemExit(launch(Launch(home=home, resume=resume, workspace=home.parent), opener=opener))
    raise SystemExit(launch(Launch(home=home, backend=what, resume=resume, workspace=home.parent)))
