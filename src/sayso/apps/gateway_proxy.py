"""Where `sayso gateway proxy` takes its agent's key from: a private file or the environment, never the command line."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path

from sayso.core.refusal import Refused
from sayso.gateway.proxy import signing_proxy

__all__ = ("KEY_VARIABLE", "read_agent_key", "signing_proxy")

KEY_VARIABLE = "SAYSO_AGENT_KEY"


def read_agent_key(path: Path | None, environ: Mapping[str, str]) -> str:
    """The agent's key, from a file or else from SAYSO_AGENT_KEY.

    Refused: `agent_key_missing`; `agent_key_exposed` for a file that others than its owner can read.
    """
    if path is None:
        found = environ.get(KEY_VARIABLE, "").strip()
    else:
        try:
            if stat.S_IMODE(path.stat().st_mode) & 0o077:
                raise Refused.because(
                    "agent_key_exposed", f"{path} can be read by others", help=f"Run: chmod 600 {path}", place=str(path)
                )
            found = path.read_text("ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise Refused.because("agent_key_missing", f"{path} cannot be read", place=str(path)) from error
    if not found:
        raise Refused.because(
            "agent_key_missing", "There is no agent key", help=f"Set {KEY_VARIABLE}, or name a file that holds the key."
        )
    return found
