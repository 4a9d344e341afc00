"""The corpus kit: recorded native frames through an adapter's own codec and reducer, against the envelopes expected.

A case is a folder with `native.jsonl` (one step a line: a native frame with its classification), `expected-oap.json`
(every event the adapter tells, in order) and `case.json` (what the driver is told besides). The kit reads the steps,
hands each to the adapter under test and compares after `normalised`: ids come from one counter or another and times
from one clock or another, so ids are renamed by first appearance and times and revisions dropped; equalities of ids
stay (OAP-046). A step that is `observed-only` may tell nothing, one that is `required-unmapped` must fail the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from sayso.control.protocol.envelope import Envelope, convert_envelope, write_envelope
from sayso.control.protocol.payloads.scalars import Wire
from sayso.core import strictjson
from sayso.core.frames import LineFramer
from sayso.core.refusal import Refused

__all__ = ("CASE_FILES", "Case", "Replay", "Step", "differences", "normalised", "read_case", "read_corpus", "replayed")

CASE_FILES = ("case.json", "native.jsonl", "expected-oap.json")
_LINE_LIMIT = 16 * 1024 * 1024
_OWN_IDS = (
    "id",
    "in_reply_to",
    "session_id",
    "run_id",
    "turn_id",
    "tool_call_id",
    "message_id",
    "interaction_id",
    "pending_user_input_id",
    "submission_id",
    "request_id",
    "compaction_id",
)
"""Members whose values an adapter mints."""
_NATIVE_PARENTS = ("options", "questions", "choices", "selected_option_ids")
"""Lists whose ids have a meaning and are kept."""
_DROPPED = ("capability_revision",)


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `native.jsonl`; what the kit does not know stays in `line`."""

    classification: Literal["mapped", "observed-only", "required-unmapped"]
    line: Mapping[str, Any]
    action: str | None = None

    @property
    def frame(self) -> object:
        """The native frame: `raw`, or the step itself where method and parameters stand in it."""
        return self.line.get("raw", self.line)


@dataclass(frozen=True, slots=True)
class Case:
    """One case, read whole; `settings` is its `case.json`."""

    name: str
    settings: Mapping[str, Any]
    steps: tuple[Step, ...]
    expected: tuple[Envelope[Wire], ...]


class Replay(Protocol):
    """The adapter under test, without its process: production codec and reducer."""

    def feed(self, step: Step) -> Iterable[Envelope[Wire]]:
        """Takes one step, in order, and gives what it makes the adapter tell."""
        ...

    def finish(self) -> Iterable[Envelope[Wire]]:
        """The recording is over; gives what is told then."""
        ...


def read_corpus(folder: Path) -> list[Case]:
    """Every case below a folder, by name."""
    return [read_case(path.parent) for path in sorted(folder.rglob("case.json"))]


def read_case(folder: Path) -> Case:
    """Raises `Refused` `malformed_json` or `schema_invalid` for files that are not a case's."""
    settings, expected = (_read(folder / name) for name in ("case.json", "expected-oap.json"))
    if not isinstance(settings, dict) or not isinstance(expected, list):
        raise Refused.because("schema_invalid", "a case has an object and a list", place=str(folder))
    framer = LineFramer(_LINE_LIMIT)
    lines = framer.feed((folder / "native.jsonl").read_bytes())
    lines += filter(None, [framer.close()])
    return Case(
        name=f"{folder.parent.name}/{folder.name}",
        settings=settings,
        steps=tuple(_read_step(line, folder) for line in lines),
        expected=tuple(convert_envelope(value) for value in expected),
    )


def replayed(case: Case, adapter: Callable[[Case], Replay]) -> tuple[list[Envelope[Wire]], list[str]]:
    """Everything the adapter told, and where a step told what its classification forbids."""
    told: list[Envelope[Wire]] = []
    faults = []
    replay = adapter(case)
    for number, step in enumerate(case.steps, 1):
        told_now = list(replay.feed(step))
        told += told_now
        if step.classification == "observed-only" and told_now:
            faults.append(f"step {number} is observed-only and told {told_now[0].type}")
        if step.classification == "required-unmapped" and "run.failed" not in [each.type for each in told_now]:
            faults.append(f"step {number} is required-unmapped and did not fail the run")
    return [*told, *replay.finish()], faults


def differences(case: Case, adapter: Callable[[Case], Replay]) -> list[str]:
    """How a replay differs from the case, a sentence each; none means that the adapter conforms."""
    told, faults = replayed(case, adapter)
    got, wanted = normalised(told), normalised(case.expected)
    for number, (one, other) in enumerate(zip(got, wanted, strict=False), 1):
        if one != other:
            faults.append(f"event {number}: {_first_difference(one, other)}")
            break
    if len(got) != len(wanted):
        faults.append(f"{len(got)} events were told, {len(wanted)} are expected")
    return faults


def normalised(envelopes: Sequence[Envelope[Wire]]) -> list[Any]:
    """The envelopes as JSON's own values, ids renamed by first appearance, times and revisions dropped."""
    names: dict[str, str] = {}
    return [_normal(strictjson.parse(write_envelope(envelope)), "", names) for envelope in envelopes]


def _normal(value: Any, under: str, names: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_normal(inner, under, names) for inner in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, inner in sorted(value.items()):
        if key.endswith("_ms") or key in _DROPPED:
            continue
        if key in _OWN_IDS and under not in _NATIVE_PARENTS and isinstance(inner, str):
            kept[key] = names.setdefault(inner, f"id-{len(names) + 1}")
        elif under == "" or key in ("final_response", "summary") or under == "payload":
            kept[key] = _normal(inner, key, names)
        else:
            kept[key] = inner
    return kept


def _first_difference(one: Any, other: Any) -> str:
    keys = sorted({*one, *other})
    for key in keys:
        if one.get(key) != other.get(key):
            return f"`{key}` is {_shown(one.get(key))}, expected {_shown(other.get(key))}"
    return "differs"


def _shown(value: object) -> str:
    return strictjson.encode(value).decode()[:300]


def _read_step(line: bytes, folder: Path) -> Step:
    value: Any = strictjson.parse(line)
    if not isinstance(value, dict):
        raise Refused.because("schema_invalid", "a step is a JSON object", place=f"{folder}/native.jsonl")
    known = {name: value[name] for name in ("classification", "action") if name in value}
    try:
        return msgspec.convert({**known, "line": value}, Step, strict=True)
    except msgspec.ValidationError as error:
        raise Refused.because("schema_invalid", str(error), place=f"{folder}/native.jsonl") from None


def _read(path: Path) -> Any:
    return strictjson.parse(path.read_bytes())
