"""The gateway's and the Gate's limits as their operator sets them: one environment variable each, read once at start.

Sources: GTW-020 (limits), GTW-032 (deadlines), GTW-033 (what an act may cost).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import msgspec

from sayso.core.gcra import Limit
from sayso.core.refusal import Refused
from sayso.gateway.guard.rules.limits import Limits
from sayso.governance.constitution import Ceilings
from sayso.governance.gate import Deadlines

__all__ = ("SETTINGS", "Setting", "read_ceilings", "read_deadlines", "read_limits")

_DIGITS = 9


class Setting(msgspec.Struct, frozen=True):
    """One variable: a whole number in `unit`, from `low` on, `default` where it is not set."""

    variable: str
    default: int
    low: int
    unit: str
    says: str


_LIMITS = (
    Setting("SAYSO_GATEWAY_BODY_BYTES", 8192, 1024, "bytes", "the largest request body"),
    Setting("SAYSO_GATEWAY_STRING_CHARS", 2000, 64, "code points", "the longest text in a payload"),
    Setting("SAYSO_GATEWAY_PAYLOAD_LEVELS", 4, 1, "levels", "how deep a payload is nested"),
    Setting("SAYSO_GATEWAY_ENVELOPE_LEVELS", 12, 8, "levels", "how deep a whole message is nested"),
    Setting("SAYSO_GATEWAY_CALLS_PER_MINUTE", 20, 1, "calls", "an agent's sustained rate"),
    Setting("SAYSO_GATEWAY_CALLS_PER_SECOND", 3, 1, "calls", "an agent's burst"),
    Setting("SAYSO_GATEWAY_REQUESTS_PER_SECOND", 10, 1, "requests", "an agent's requests of any kind"),
    Setting("SAYSO_GATEWAY_ATTEMPTS_PER_MINUTE", 30, 1, "requests", "requests without a known key, an address"),
    Setting("SAYSO_GATEWAY_SIGNATURE_SECONDS", 60, 5, "seconds", "how far a timestamp may be from the clock"),
    Setting("SAYSO_GATEWAY_VIOLATIONS", 5, 1, "violations", "how many suspend an agent"),
    Setting("SAYSO_GATEWAY_VIOLATION_HOURS", 24, 1, "hours", "how long a violation counts"),
    Setting("SAYSO_GATEWAY_SETTLE_SECONDS", 120, 10, "seconds", "how long an answer may take to find"),
)
_DEADLINES = (
    Setting("SAYSO_GATE_DECIDE_SECONDS", 86_400, 1, "seconds", "how long a proposal waits for a decision"),
    Setting("SAYSO_GATE_BEGIN_SECONDS", 86_400, 1, "seconds", "how long an approval may wait to be carried out"),
    Setting("SAYSO_GATE_ANSWER_SECONDS", 3600, 1, "seconds", "how long a question midway waits, unless it says"),
)
_CEILINGS = (
    Setting("SAYSO_GATE_CEILING_CENTS", 100_000, 0, "cents", "the most one act may cost"),
    Setting("SAYSO_GATE_CEILING_SECONDS", 900, 1, "seconds", "the longest one act may run"),
)
SETTINGS = (*_LIMITS, *_DEADLINES, *_CEILINGS)
"""Every setting, in the order the documents print them."""


def read_limits(environ: Mapping[str, str]) -> Limits:
    """The limits of an environment. Refused: `settings_invalid`, naming the variable."""
    values = {setting.variable.removeprefix("SAYSO_GATEWAY_"): _read(setting, environ) for setting in _LIMITS}
    minute, second = timedelta(minutes=1), timedelta(seconds=1)
    return Limits(
        body_bytes=values["BODY_BYTES"],
        string_chars=values["STRING_CHARS"],
        payload_levels=values["PAYLOAD_LEVELS"],
        envelope_levels=values["ENVELOPE_LEVELS"],
        minute=Limit(minute, values["CALLS_PER_MINUTE"]),
        second=Limit(second, values["CALLS_PER_SECOND"]),
        coarse=Limit(second, values["REQUESTS_PER_SECOND"]),
        address=Limit(minute, values["ATTEMPTS_PER_MINUTE"]),
        signature_age=timedelta(seconds=values["SIGNATURE_SECONDS"]),
        violations=values["VIOLATIONS"],
        violation_window=timedelta(hours=values["VIOLATION_HOURS"]),
        settle_within=timedelta(seconds=values["SETTLE_SECONDS"]),
    )


def read_deadlines(environ: Mapping[str, str]) -> Deadlines:
    """How long the Gate waits. Refused: `settings_invalid`, naming the variable."""
    decide, begin, answer = (timedelta(seconds=_read(setting, environ)) for setting in _DEADLINES)
    return Deadlines(decide=decide, begin=begin, answer=answer)


def read_ceilings(environ: Mapping[str, str]) -> Ceilings:
    """The most an act may cost. Refused: `settings_invalid`, naming the variable."""
    cents, seconds = (_read(setting, environ) for setting in _CEILINGS)
    return Ceilings(cents=cents, seconds=seconds)


def _read(setting: Setting, environ: Mapping[str, str]) -> int:
    text = environ.get(setting.variable, "").strip()
    if not text:
        return setting.default
    if text.isascii() and text.isdigit() and len(text) <= _DIGITS and int(text) >= setting.low:
        return int(text)
    raise Refused.because(
        "settings_invalid",
        f"{setting.variable} is a whole number of {setting.unit}, {setting.low} or more",
        place=setting.variable,
        help=f"It sets {setting.says}; without it that is {setting.default}.",
    )
