"""Changes as unified diffs, small ones whole and large ones cut and said to be."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.control.workspace.diffs import unified_diff


def test_a_change_is_shown_with_the_lines_around_it() -> None:
    """With the file's own line numbers, however far down."""
    old = "".join(f"{number}\n" for number in range(1000))
    assert unified_diff(old, old.replace("\n700\n", "\nseven hundred\n"), "n.txt") == (
        "--- a/n.txt\n+++ b/n.txt\n@@ -698,7 +698,7 @@\n 697\n 698\n 699\n-700\n+seven hundred\n 701\n 702\n 703"
    )


def test_a_new_file_comes_from_nothing() -> None:
    """And a missing line end is told."""
    assert unified_diff(None, "a\nb", "n") == (
        "--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file"
    )


def test_a_long_diff_is_cut_in_the_middle() -> None:
    """Both ends stay, and the cut is counted."""
    lines = unified_diff(None, "".join(f"{number}\n" for number in range(5000)), "n").split("\n")
    assert len(lines) == 403
    assert (lines[3], lines[-1]) == ("+0", "+4999")
    assert lines[202] == "[4601 lines of this diff are not shown]"


def test_a_name_writes_no_line_of_a_diff() -> None:
    """A path with line ends in it is written as a JSON string."""
    head = unified_diff("a\n", "b\n", "n\n@@ -1 +1 @@\n+harmless").split("\n")[:3]
    assert head == [r'--- a/"n\n@@ -1 +1 @@\n+harmless"', r'+++ b/"n\n@@ -1 +1 @@\n+harmless"', "@@ -1 +1 @@"]


def test_a_wide_line_is_cut() -> None:
    """Where it is cut is told."""
    assert unified_diff(None, "x" * 1000 + "\n", "n").endswith("x" * 10 + "[601 characters are not shown]")


def test_large_files_that_differ_everywhere_are_shown_as_replaced() -> None:
    """Nothing is compared line by line there: time would grow with the square."""
    old, new = "a\nb\n" * 20_000, "b\na\n" * 20_000
    assert unified_diff(old, "x\n" + new, "n").startswith("--- a/n\n+++ b/n\n@@ -1,40000 +1,40001 @@\n-a\n-b\n")


def test_a_word_replaced_all_over_a_large_file_is_shown_where_it_stands() -> None:
    """Not as a file that is replaced whole, of which no more than the ends would be shown."""
    old = "".join(f"{number}\n" for number in range(9000))
    new = old.replace("\n10\n", "\nten\n").replace("\n8000\n", "\neight thousand\n")
    assert unified_diff(old, new, "n").split("\n")[2:] == [
        "@@ -8,7 +8,7 @@", " 7", " 8", " 9", "-10", "+ten", " 11", " 12", " 13",
        "@@ -7998,7 +7998,7 @@", " 7997", " 7998", " 7999", "-8000", "+eight thousand", " 8001", " 8002", " 8003",
    ]  # fmt: skip


lines = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=14)


@settings(max_examples=100, deadline=None)
@given(lines, lines)
def test_a_diff_says_what_to_do(old: list[str], new: list[str]) -> None:
    """Followed line by line it turns the old text into the new."""
    diff = unified_diff("".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new), "n")
    made, at = list[str](), 0
    for line in diff.split("\n")[2:]:
        if line.startswith("@@"):
            first, _, count = line.split()[1][1:].partition(",")
            begin = int(first) - (count != "0")
            made += old[at:begin]
            at = begin
        elif line.startswith("+"):
            made.append(line[1:])
        else:
            assert old[at] == line[1:]
            made += [line[1:]] if line.startswith(" ") else []
            at += 1
    assert [*made, *old[at:]] == new
