"""Which words in a workspace are understood, and as what."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sayso.control.provider.planner.workspace.words import LONGEST, understand

FORMS: list[tuple[str, str, dict[str, Any]]] = [
    ("read README.md", "Read", {"path": "README.md"}),
    ("Please read README.md.", "Read", {"path": "README.md"}),
    ("could you show me src/x.py, please?", "Read", {"path": "src/x.py"}),
    ("read README", "Read", {"path": "README"}),
    ("open Makefile", "Read", {"path": "Makefile"}),
    ("open the file notes", "Read", {"path": "notes"}),
    ("cat 'my notes'", "Read", {"path": "my notes"}),
    ("show me the first 20 lines of a.py", "Read", {"path": "a.py", "limit": 20}),
    ("read lines 3 to 9 of a.py", "Read", {"path": "a.py", "offset": 3, "limit": 7}),
    ("read line 3 of a.py", "Read", {"path": "a.py", "offset": 3, "limit": 1}),
    ("read lines 9 to 3 of a.py", "Read", {"path": "a.py", "offset": 9, "limit": 1}),
    ("read lines 0 to 9999999 of a.py", "Read", {"path": "a.py", "offset": 1, "limit": 2000}),
    ("list the files", "Glob", {"pattern": "*"}),
    ("list files in src", "Glob", {"pattern": "*", "path": "src"}),
    ("list all the files in the src/app folder", "Glob", {"pattern": "*", "path": "src/app"}),
    ("what files are there?", "Glob", {"pattern": "*"}),
    ("list the files in this folder", "Glob", {"pattern": "*"}),
    ("ls", "Glob", {"pattern": "*"}),
    ("ls src", "Glob", {"pattern": "*", "path": "src"}),
    ("find files named *.py", "Glob", {"pattern": "*.py"}),
    ("find all files named conf in etc", "Glob", {"pattern": "conf", "path": "etc"}),
    ("find *.py in src", "Glob", {"pattern": "*.py", "path": "src"}),
    ("find setup.cfg", "Glob", {"pattern": "setup.cfg"}),
    ("search for 'text' in src", "Grep", {"pattern": "text", "path": "src"}),
    ('find "a.b (c)"', "Grep", {"pattern": re.escape("a.b (c)")}),
    ("search for TODO in src", "Grep", {"pattern": "TODO", "path": "src"}),
    ("grep x+y", "Grep", {"pattern": re.escape("x+y")}),
    ("write 'hello' to notes.txt", "Write", {"path": "notes.txt", "content": "hello"}),
    ("write 'it's mine' to 'my notes.txt'", "Write", {"path": "my notes.txt", "content": "it's mine"}),
    ("put “two\nlines” into the file a.txt.", "Write", {"path": "a.txt", "content": "two\nlines"}),
    ("write '' to a.txt", "Write", {"path": "a.txt", "content": ""}),
    ("create notes.txt with 'hi'", "Write", {"path": "notes.txt", "content": "hi"}),
    ("replace 'a' with 'b' in n.txt", "Edit", {"path": "n.txt", "old_text": "a", "new_text": "b"}),
    ("change \"a\" to '' in n.txt.", "Edit", {"path": "n.txt", "old_text": "a", "new_text": ""}),
    ("replace all 'a' with 'b' in n", "Edit", {"path": "n", "old_text": "a", "new_text": "b", "replace_all": True}),
    ("replace 'a' by 'b' everywhere in n",
     "Edit", {"path": "n", "old_text": "a", "new_text": "b", "replace_all": True}),
    ("run `ls -la`", "Shell", {"command": "ls -la"}),
    ("run ls", "Shell", {"command": "ls"}),
    ("Run make test.", "Shell", {"command": "make test"}),
    ("run git log v1..", "Shell", {"command": "git log v1.."}),
    ("$ echo 'a'  'b'", "Shell", {"command": "echo 'a'  'b'"}),
    ("run echo thanks", "Shell", {"command": "echo thanks"}),
    ("can you run `ls`, please?", "Shell", {"command": "ls"}),
    ("run `echo a; echo b`", "Shell", {"command": "echo a; echo b"}),
]  # fmt: skip


@pytest.mark.parametrize(("said", "tool", "arguments"), FORMS)
def test_a_request_of_a_known_form_is_one_call(said: str, tool: str, arguments: dict[str, Any]) -> None:
    """Texts and commands exactly as they were said."""
    wish = understand(said, is_alone=True)
    assert wish is not None
    assert (wish.call.tool, dict(wish.call.arguments)) == (tool, arguments)


@pytest.mark.parametrize(
    "said",
    [
        "", "hello", "show me the money", "read it", "read", "open up", "what is in here?", "list my bookings",
        "run", "run the tests", "run it", "run a diagnosis on my car", "run ``", "write me a poem",
        "write to notes.txt",
        "write hello to notes.txt", "write 'hello'", "replace a with b in n.txt", "replace '' with 'b' in n.txt",
        "replace 'a' with 'b'", "search", "search for ''", "search for 'a\nb'", "find a slot", "find something nice",
        "ls -la", "delete notes.txt", "rm -rf /", "fix the bug in src/x.py", "explain README.md",
        "book an oil change Thursday around 1 PM, under $100", "read README.md and fix it", "run ls\nrm -rf /",
        "read README.md\nthen delete it", "write 'a' to \0", "x" * (LONGEST + 1),
    ],
)  # fmt: skip
def test_whatever_has_no_known_form_is_not_understood(said: str) -> None:
    """Half an understanding of a command is worse than none."""
    assert understand(said, is_alone=True) is None


def test_a_word_to_search_for_needs_quotes_where_an_appointment_may_be_meant() -> None:
    """ "Search for massage" may ask for either."""
    assert understand("search for massage", is_alone=False) is None
    assert understand("search for 'massage'", is_alone=False) is not None


WORDS = "read write replace run list find search for show me with to in from lines files named the file all `ls` 'a' $"
PIECES = st.sampled_from(
    [*WORDS.split(), '"b"', "“c”", "'", '"', "`", "*.py", "src/x.py", "9", ".", ",", "\n", "\u2028"]
)


@given(st.text(max_size=300) | st.lists(PIECES, max_size=14).map(" ".join) | st.lists(PIECES, max_size=14).map("".join))
@example("'" * LONGEST)
@example("replace " + "' with " * 1000)
@example("write " + "'" * (LONGEST - 6))
@example("search for " + " " * (LONGEST - 12) + "x")
@example("read " + "the " * 1900)
def test_any_text_is_a_whole_call_or_none(said: str) -> None:
    """Never an exception, never an argument of a shape the tool does not take, and soon."""
    for is_alone in (True, False):
        wish = understand(said, is_alone=is_alone)
        if wish is not None:
            assert all(isinstance(each, str | int) for each in wish.arguments.values())
            assert wish.arguments.get("path") != ""
            assert wish.arguments.get("command", "x")
