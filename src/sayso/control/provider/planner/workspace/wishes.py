"""The requests that are understood, each as the call it leads to.

The set is small on purpose. A program without a language model that guessed at a command or at a file's new text would
do harm, so a text to write, a text to search for and a command stand in the request word for word, and whatever does
not fit a form whole is not understood.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from sayso.control.provider.planner.steps import Call

__all__ = ("EXAMPLES", "TOOLS", "Verb", "Wish")


class Verb(StrEnum):
    """What is wished for, by the tool that does it."""

    READ = "Read"
    WRITE = "Write"
    EDIT = "Edit"
    SHELL = "Shell"
    GLOB = "Glob"
    GREP = "Grep"


TOOLS = frozenset(verb.value for verb in Verb)

EXAMPLES: Mapping[Verb, tuple[str, ...]] = {
    Verb.READ: ("read README.md",),
    Verb.GLOB: ("list the files in src", "find files named *.py"),
    Verb.GREP: ("search for 'text' in src",),
    Verb.WRITE: ("write 'hello' to notes.txt",),
    Verb.EDIT: ("replace 'a' with 'b' in notes.txt",),
    Verb.SHELL: ("run `ls -la`",),
}


@dataclass(frozen=True, slots=True)
class Wish:
    """One request: the tool, its arguments, and `about`, the path, pattern or command it is about, as it was said."""

    verb: Verb
    arguments: Mapping[str, object] = field(default_factory=dict)
    about: str = ""

    @property
    def call(self) -> Call:
        return Call(self.verb.value, self.arguments)
