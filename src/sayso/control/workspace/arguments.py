"""The six tools as the model is told of them: names, words, and the closed shape of their arguments.

A schema is made from the type that reads the arguments, so that the two cannot part.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from sayso.control.loop.contract import ToolCall, ToolSpec
from sayso.control.workspace.denial import bad_argument
from sayso.core import strictjson
from sayso.core.refusal import Refused

__all__ = (
    "MOST_SECONDS",
    "EditArguments",
    "GlobArguments",
    "GrepArguments",
    "ReadArguments",
    "ShellArguments",
    "WriteArguments",
    "read_arguments",
    "tool_specs",
)

MOST_SECONDS = 600

_Path = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=4096,
        description="Relative to the workspace, or absolute inside it. Links that lead out of it are refused.",
    ),
]
_Folder = Annotated[str, Meta(min_length=1, max_length=4096, description="The folder to look in; the whole workspace.")]
_Hidden = Annotated[bool, Meta(description="Look at names that begin with a dot too.")]
_Ignored = Annotated[bool, Meta(description="Look also at what .gitignore leaves out.")]
_TEXT = 2 * 1024 * 1024


class _Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of a tool; nothing besides what is named."""


class ReadArguments(_Arguments, frozen=True, kw_only=True):
    """Read."""

    path: _Path
    offset: Annotated[int, Meta(ge=1, description="The first line, counted from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=2000, description="How many lines.")] = 2000


class WriteArguments(_Arguments, frozen=True, kw_only=True):
    """Write."""

    path: _Path
    content: Annotated[str, Meta(max_length=_TEXT, description="The whole text of the file.")]


class EditArguments(_Arguments, frozen=True, kw_only=True):
    """Edit."""

    path: _Path
    old_text: Annotated[
        str, Meta(min_length=1, max_length=_TEXT, description="The text to replace, exactly, without line numbers.")
    ]
    new_text: Annotated[str, Meta(max_length=_TEXT, description="What stands there afterwards.")]
    replace_all: Annotated[bool, Meta(description="Replace every occurrence instead of the only one.")] = False


class ShellArguments(_Arguments, frozen=True, kw_only=True):
    """Shell."""

    command: Annotated[str, Meta(min_length=1, max_length=8192, description="What bash runs.")]
    seconds: Annotated[int, Meta(ge=1, le=MOST_SECONDS, description="After so long the command is killed.")] = 120


class GlobArguments(_Arguments, frozen=True, kw_only=True):
    """Glob."""

    pattern: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=1024,
            description="As in .gitignore: `*.py` at any depth, `/*.py` at the top, `/src/**/test_*` below src.",
        ),
    ]
    path: _Folder = "."
    dotfiles: _Hidden = False
    ignored: _Ignored = False


class GrepArguments(_Arguments, frozen=True, kw_only=True):
    """Grep."""

    pattern: Annotated[
        str, Meta(min_length=1, max_length=4096, description="A regular expression as Python writes it.")
    ]
    path: Annotated[
        str, Meta(min_length=1, max_length=4096, description="The folder or file to look in; the whole workspace.")
    ] = "."
    glob: (
        Annotated[str, Meta(min_length=1, max_length=1024, description="Only files that this pattern of Glob names.")]
        | None
    ) = None
    ignore_case: Annotated[bool, Meta(description="Take capitals and small letters as the same.")] = False
    files_only: Annotated[bool, Meta(description="Tell the files that hold a match, not the lines.")] = False
    limit: Annotated[int, Meta(ge=1, le=2000, description="How many lines or files at most.")] = 200
    dotfiles: _Hidden = False
    ignored: _Ignored = False


_READ_ONLY: Mapping[str, object] = {"readOnlyHint": True}
_LOCAL: Mapping[str, object] = {"readOnlyHint": False, "openWorldHint": False}
_CHANGES: Mapping[str, object] = {**_LOCAL, "destructiveHint": True}

_READ = """\
Reads a text file of the workspace, with line numbers in front of its lines. Long files come in parts: at most 2000 \
lines and 100,000 characters at once, lines cut at 2000 characters; the first line of the result says what it shows \
and where to go on. Images, other binary files, pipes and devices are refused."""
_WRITE = """\
Writes a whole text file in the workspace, making the folders above it. A file that exists is replaced, and must have \
been read in this session before; to change a part of one use Edit. Whatever is inside a .git folder is refused."""
_EDIT = """\
Replaces a text in a file of the workspace. The old text must be found exactly once, white space included, unless \
replace_all is set: give enough of the lines around it. Line ends and byte order mark stay as they are. A file that \
changed since it was read in this session is refused; read it again. Answers with the change as a diff."""
_GLOB = """\
Lists files of the workspace whose paths match a pattern, sorted, at most 1000. What .gitignore leaves out, names that \
begin with a dot and .git are left out unless asked for; .git always."""
_GREP = """\
Finds lines in the text files of the workspace that match a regular expression, as path:line:text. What .gitignore \
leaves out, names that begin with a dot, binary files and files over 10 MiB are left out."""

_ARGUMENTS: Mapping[str, tuple[type[_Arguments], str, Mapping[str, object]]] = {
    "Read": (ReadArguments, _READ, _READ_ONLY),
    "Write": (WriteArguments, _WRITE, _CHANGES),
    "Edit": (EditArguments, _EDIT, _CHANGES),
    "Shell": (ShellArguments, "", _CHANGES),
    "Glob": (GlobArguments, _GLOB, _READ_ONLY),
    "Grep": (GrepArguments, _GREP, _READ_ONLY),
}

A = TypeVar("A", bound=_Arguments)


def tool_specs(shell: str) -> tuple[ToolSpec, ...]:
    """The tools; `shell` describes Shell, whose surroundings differ from machine to machine."""
    return tuple(
        ToolSpec(name, words or shell, _schema(kind), dict(annotations))
        for name, (kind, words, annotations) in _ARGUMENTS.items()
    )


def read_arguments(call: ToolCall, kind: Callable[..., A]) -> A:
    """A call's arguments. Refused `invalid_arguments`, with the place of the first that does not fit."""
    try:
        return strictjson.convert(dict(call.arguments), kind)  # type: ignore[arg-type]
    except Refused as refused:
        refusal = refused.refusal
        raise bad_argument(
            "schema", f"{call.name}: {refusal.message}", place=refusal.place or "$", help=refusal.help
        ) from None


def _schema(kind: type[_Arguments]) -> dict[str, object]:
    schema: dict[str, object] = msgspec.json.schema(kind)["$defs"][kind.__name__]
    return {name: value for name, value in schema.items() if name not in ("title", "description")}
