"""A host's settings as a person writes them: one TOML file, read into the same closed Structs that are published.

What the file leaves out takes the defaults below; whatever is unknown, misspelt or does not hold together is refused
before anything is served, naming the key and the line it stands on (issue 3, "Host side"). The Structs are `config`'s
and the discovery document's own, so there is no second vocabulary to keep in step.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from sayso.core.durations import parse_duration
from sayso.core.money import MoneyText, read_money
from sayso.core.refusal import Refused
from sayso.core.zones import find_zone
from sayso.proof.keys import PrivateKey
from sayso.scheduling.host.config import HostConfig, build_profile
from sayso.scheduling.host.documents import discovery_bytes
from sayso.scheduling.terms.discovery_checks import verify_discovery

__all__ = ("DEFAULTS", "read_host_settings")

DEFAULTS: Final[Mapping[str, Any]] = {
    "policies": {
        "holds": {"ttl_max": "PT10M", "ttl_min": "PT1M", "max_active_per_agent": 3, "max_active_unproven": 6},
        "confirmation": {"mode": "instant"},
        "access": "anyone",
        "closed_mandate": "never",
        "retention": "P365D",
        "horizon": "P60D",
        "slot_step": "PT15M",
        "notes": {"accepted": False},
        "replay_window": "P1D",
    }
}
"""What a file need not say (SCH-116, SCH-153)."""

_DURATIONS = frozenset(
    (
        "answer_within",
        "buffer",
        "due",
        "duration",
        "horizon",
        "opens",
        "replay_window",
        "retention",
        "set_aside",
        "slot_step",
        "ttl_max",
        "ttl_min",
    )
)
_AT = re.compile(r"^(?P<what>.*?)(?: - at `(?P<path>[^`]+)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"unknown field `([^`]+)`")
_STEP = re.compile(r"\.([A-Za-z0-9_-]+)|\[([^\]]+)\]")
_HEADER = re.compile(r"\s*(\[\[?)\s*([A-Za-z0-9_.\"'-]+)\s*\]")
_KEY = re.compile(r"\s*([A-Za-z0-9_.\"'-]+)\s*=")

Path = tuple[str | int, ...]


def read_host_settings(text: str, name: str) -> HostConfig:
    """The settings in the text of a TOML file; `name` is what refusals call the file.

    Refused: `config_invalid`, whose place is `NAME, line N: key`.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as wrong:
        raise Refused.because("config_invalid", f"the file is no TOML: {wrong}", place=name) from None
    full = _with_defaults(data, DEFAULTS)
    try:
        _check_values(full, ())
        config = msgspec.convert(full, HostConfig)
        if config.operator is not None:
            raise Refused.because("config_invalid", "a host is served on its own domain here", place="$.operator")
        build_profile(config)
        verify_discovery(discovery_bytes(config, PrivateKey.generate().public), config.domain)
    except msgspec.ValidationError as wrong:
        what, path = _told(str(wrong))
        raise _refused(text, name, path, what) from None
    except Refused as wrong:
        path = _read_path(wrong.refusal.place or "$", data)
        raise _refused(text, name, ("domain",) if path == ("host",) else path, wrong.refusal.message) from None
    return config


def _with_defaults(data: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    filled = dict(data)
    for key, value in defaults.items():
        if key not in filled:
            filled[key] = value
        elif isinstance(value, Mapping) and isinstance(filled[key], Mapping) and "mode" not in value:
            filled[key] = _with_defaults(filled[key], value)
    return filled


def _check_values(value: object, path: Path) -> None:
    """Durations, amounts and the zone, each with the place it stands at, which the later checks do not all know."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _check_member(str(key), inner, (*path, str(key)))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _check_values(inner, (*path, index))


def _check_member(key: str, value: object, path: Path) -> None:
    try:
        if key in _DURATIONS and isinstance(value, str) and value != "open":
            parse_duration(value)
        elif key == "timezone" and isinstance(value, str):
            find_zone(value)
        elif key == "price" and isinstance(value, Mapping):
            read_money(msgspec.convert(value, MoneyText))
        else:
            _check_values(value, path)
    except msgspec.ValidationError as wrong:
        raise Refused.because("config_invalid", str(wrong), place=_said(path)) from None
    except Refused as wrong:
        place = wrong.refusal.place or _said(path)
        raise Refused.because("config_invalid", wrong.refusal.message, place=place) from None


def _said(path: Path) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def _told(message: str) -> tuple[str, Path]:
    """What a decoder says, and where; an unknown member is the place itself."""
    found = _AT.fullmatch(message)
    what, path = (found["what"], found["path"]) if found else (message, None)
    steps = _read_path(path or "$", {})
    unknown = _UNKNOWN.search(what)
    return what, (*steps, unknown[1]) if unknown else steps


def _read_path(place: str, data: Mapping[str, Any]) -> Path:
    """`$.services[oil-change].buffer` as steps; a table's id becomes its number in the file."""
    steps: list[str | int] = []
    for key, inner in _STEP.findall(place):
        if key:
            steps.append(key)
        elif inner.isdigit():
            steps.append(int(inner))
        else:
            rows = data.get(str(steps[-1]), ()) if len(steps) == 1 else ()
            ids = [row.get("id") for row in rows if isinstance(row, Mapping)]
            steps.append(ids.index(inner) if inner in ids else inner)
    return tuple(steps)


def _refused(text: str, name: str, path: Path, what: str) -> Refused:
    line = _line_of(text, path)
    key = _said(path)[2:] or "the file"
    where = f"{name}, line {line}: {key}" if line is not None else f"{name}: {key}"
    said = what.removeprefix("The host's settings do not hold: ").rstrip(".")
    return Refused.because("config_invalid", said, place=where, help="Correct that line and try again.")


def _line_of(text: str, path: Path) -> int | None:
    """The line of the longest part of the path that the file writes out."""
    lines = dict(_lines(text))
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return None


def _lines(text: str) -> Iterator[tuple[Path, int]]:
    """Every table and key of the file with its line. Inside strings over several lines this may see too much, which
    costs a wrong line number and nothing else.
    """
    counts: dict[Path, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _resolved(_split(header[2]), counts)
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            yield table, number
        elif key := _KEY.match(line):
            steps = _split(key[1])
            for length in range(1, len(steps) + 1):
                yield (*table, *steps[:length]), number


def _split(dotted: str) -> Path:
    return tuple(part.strip("\"'") for part in dotted.split("."))


def _resolved(steps: Path, counts: Mapping[Path, int]) -> Path:
    """A dotted table name with the numbers of the arrays it passes through."""
    done: Path = ()
    for index, step in enumerate(steps):
        done = (*done, step)
        if done in counts and index < len(steps) - 1:
            done = (*done, counts[done])
    return done
