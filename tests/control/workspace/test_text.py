"""Text files keep their form, and what is no text is told from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.workspace.text import image_kind, read_text
from sayso.core.refusal import Refused


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40), st.booleans())
def test_a_file_that_was_read_is_written_as_it_was(text: str, has_mark: bool) -> None:
    """Byte for byte, whatever its line ends."""
    data = (b"\xef\xbb\xbf" if has_mark else b"") + text.encode()
    if image_kind(data) is None:
        assert read_text(data, "f").to_bytes() == data


@pytest.mark.parametrize(
    ("data", "text", "ending", "has_mark"),
    [
        (b"a\nb\n", "a\nb\n", "\n", False),
        (b"a\r\nb\r\n", "a\nb\n", "\r\n", False),
        (b"\xef\xbb\xbfa\r\n", "a\n", "\r\n", True),
        (b"a\r\nb\n", "a\r\nb\n", "\n", False),
        (b"a\rb\r\n", "a\rb\r\n", "\n", False),
        (b"", "", "\n", False),
    ],
)
def test_line_ends_and_mark_are_told_apart(data: bytes, text: str, ending: str, has_mark: bool) -> None:
    """Only line ends that are all alike are taken off."""
    file = read_text(data, "f")
    assert (file.text, file.ending, file.has_mark) == (text, ending, has_mark)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x89PNG\r\n\x1a\n0000", "is_an_image"),
        (b"\xff\xd8\xff\xe0", "is_an_image"),
        (b"GIF89a", "is_an_image"),
        (b"RIFF1234WEBPVP8 ", "is_an_image"),
        (b"a\0b", "not_text"),
        (b"gr\xfc\xdfe", "not_text"),
        ("a".encode("utf-16"), "not_text"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes, reason: str) -> None:
    """An image says that it is one."""
    with pytest.raises(Refused) as refused:
        read_text(data, "f")
    assert refused.value.refusal.reason == reason


def test_only_a_whole_mark_makes_an_image() -> None:
    """A text that holds the letters is a text."""
    assert image_kind(b"XXXX1234WEBP") is None
    assert image_kind(b"about GIF8") is None
