"""Glob and Grep as the session sees them: a search is started, heard within bounds, and told as text."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sayso.control.workspace.arguments import GlobArguments, GrepArguments
from sayso.control.workspace.denial import cannot
from sayso.control.workspace.diffs import told_path
from sayso.control.workspace.root import Root
from sayso.control.workspace.running import Bounds, Outcome, Running
from sayso.control.workspace.search import Answer, End, Match, No, Search
from sayso.core import strictjson
from sayso.core.clock import Clock
from sayso.core.refusal import Refused

__all__ = ("search_result", "start_search")

_PROGRAM = "import sys; sys.path[:] = sys.argv[2:]; from sayso.control.workspace.search import main; main()"
"""What the process runs: isolated from environment and folder, with the modules that we ourselves have."""
_ANSWER_LIMIT = 4 * 1024 * 1024
_TEXT_LIMIT = 60_000
_MOST_NAMED = 1000


@dataclass(slots=True)
class _Heard:
    """What a search said before it ended."""

    matches: list[Match] = field(default_factory=list)
    end: End | None = None


def start_search(root: Root, arguments: GlobArguments | GrepArguments, seconds: int, clock: Clock) -> Running:
    """The search, ready to run; it gets the root's descriptor, so that it looks where this session does."""
    search = strictjson.encode(_search(root, arguments)).decode()
    return Running(
        (sys.executable, "-I", "-X", "utf8", "-c", _PROGRAM, search, *_places(root)),
        environment={},
        folder=Path("/"),
        bounds=Bounds(seconds=seconds, head=_ANSWER_LIMIT, tail=0),
        clock=clock,
        handed=(root.descriptor,),
    )


def _places(root: Root) -> list[str]:
    """Where our own modules come from; never a folder that an agent can write, wherever the program was started."""
    places = [os.path.realpath(each) for each in sys.path if os.path.isabs(each)]
    return [each for each in places if (inside := root.relative(each)) is None or root.is_fixed(inside)]


def search_result(outcome: Outcome, seconds: int) -> str:
    """The matches as text, and what there was no room or time for. Refused: what the search refused, `too_slow`."""
    heard = _hear(outcome.head)
    if outcome.ending == "late" and not heard.matches:
        raise _too_slow(seconds)
    if heard.end is None and outcome.ending != "late" and not outcome.cut:
        raise cannot("broke_off", "The search broke off", place="$", help="Try a simpler pattern or a smaller folder.")
    lines, is_full = _bounded(map(_line, heard.matches))
    notes: list[str] = []
    if outcome.ending == "late":
        notes.append(f"[stopped after {seconds} seconds: there may be more; narrow the pattern or the folder]")
    elif heard.end is None or heard.end.is_cut or is_full:
        notes.append(f"[there are more than these {len(lines)}: narrow the pattern or the folder]")
    if heard.end is not None and heard.end.skipped:
        notes.append(f"[{heard.end.skipped} files were not searched: not text, too large or not readable]")
    return "\n".join([*(lines or ["nothing found"]), *notes])


def _search(root: Root, arguments: GlobArguments | GrepArguments) -> Search:
    is_grep = isinstance(arguments, GrepArguments)
    return Search(
        descriptor=root.descriptor,
        root=str(root.path),
        hidden=tuple(map(str, root.hidden.folders)),
        known=tuple(root.hidden.known),
        path=arguments.path,
        glob=arguments.glob if isinstance(arguments, GrepArguments) else arguments.pattern,
        pattern=arguments.pattern if is_grep else None,
        ignore_case=isinstance(arguments, GrepArguments) and arguments.ignore_case,
        files_only=isinstance(arguments, GrepArguments) and arguments.files_only,
        limit=arguments.limit if isinstance(arguments, GrepArguments) else _MOST_NAMED,
        dotfiles=arguments.dotfiles,
        ignored=arguments.ignored,
    )


def _hear(data: bytes) -> _Heard:
    """Reads whole lines; the last may have been cut when the process was killed."""
    heard = _Heard()
    for line in data.split(b"\n")[:-1]:
        try:
            answer: Answer = strictjson.convert(strictjson.parse(line), Answer)  # type: ignore[arg-type]
        except Refused:
            break  # what an interpreter says when it ends in an unexpected way
        if isinstance(answer, No):
            raise Refused(answer.refusal)
        if isinstance(answer, End):
            heard.end = answer
        else:
            heard.matches.append(answer)
    return heard


def _line(match: Match) -> str:
    path = told_path(match.path)
    return f"{path}:{match.line}:{match.text}" if match.line else path


def _bounded(lines: Iterable[str]) -> tuple[list[str], bool]:
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > _TEXT_LIMIT:
            return kept, True
        kept.append(line)
    return kept, False


def _too_slow(seconds: int) -> Refused:
    return cannot(
        "too_slow",
        f"The search was stopped after {seconds} seconds",
        place="$.pattern",
        help="Simplify the pattern: repeats inside repeats take for ever. Or name a smaller folder.",
    )
