"""How much of a foreign server is taken in, and how long it is waited for.

Times are real seconds: a server that stops talking does so in real seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sayso.net.pipes import Patience

__all__ = ("Limits", "Operator")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of one source.

    `start_seconds` covers starting, the handshake and the whole first list. A call that got no answer in
    `call_seconds` is cancelled at the server. `message_bytes` bounds one message either way. What a result says is cut
    at `result_chars`; of its other parts `parts` are kept. `calm_seconds` is how long after a renewal of the list the
    next one waits, and how long ago the last restart must be for another one.
    """

    start_seconds: float = 30.0
    call_seconds: float = 600.0
    calm_seconds: float = 1.0
    restart_seconds: float = 60.0
    message_bytes: int = 8 * 1024 * 1024
    noise_lines: int = 1000
    tools: int = 256
    pages: int = 64
    schema_bytes: int = 64 * 1024
    description_chars: int = 4096
    result_chars: int = 100_000
    parts: int = 64
    patience: Patience = field(default_factory=lambda: Patience(eof=2.0, term=2.0))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Operator:
    """What the operator says of a source, beyond what an attachment can: never taken from a wire. Has no `repr`: a
    header's value is a secret.

    `headers` go with each request to the source's endpoint and nowhere else. With `trusts_hints` a tool that calls
    itself read-only is called without asking. A source its operator speaks for may stand on a private address.
    """

    headers: tuple[tuple[str, str], ...] = ()
    trusts_hints: bool = False
