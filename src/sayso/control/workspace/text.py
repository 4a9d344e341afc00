"""A text file as the model works with it, and back to the bytes it was.

The model sees lines that end in LF and no byte order mark; what the file had of either it keeps. A file that ends its
lines in more than one way is left as it is, its carriage returns part of the text.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, replace

from sayso.control.workspace.denial import cannot

__all__ = ("TextFile", "image_kind", "read_text")

_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", 0, "PNG"),
    (b"\xff\xd8\xff", 0, "JPEG"),
    (b"GIF8", 0, "GIF"),
    (b"WEBP", 8, "WebP"),
)


@dataclass(frozen=True, slots=True)
class TextFile:
    """`text` with LF line ends where the file's are all alike (`ending`), as it is where they are mixed."""

    text: str
    ending: str = "\n"
    has_mark: bool = False

    def holding(self, text: str) -> TextFile:
        """The same form with another text."""
        return replace(self, text=self.taken(text))

    def taken(self, text: str) -> str:
        """A text from outside in the form that `text` has here."""
        return text.replace("\r\n", "\n") if self.ending == "\r\n" else text

    def to_bytes(self) -> bytes:
        text = self.text.replace("\n", "\r\n") if self.ending == "\r\n" else self.text
        return (codecs.BOM_UTF8 if self.has_mark else b"") + text.encode()


def read_text(data: bytes, path: str) -> TextFile:
    """Refused `tool_failed`: `is_an_image`, `not_text`."""
    kind = image_kind(data)
    if kind is not None:
        raise cannot(
            "is_an_image",
            f"{path} is a {kind} image, and a tool's result carries text alone",
            help="The person can put it into a message.",
        )
    has_mark = data.startswith(codecs.BOM_UTF8)
    try:
        text = data[3 * has_mark :].decode()
    except UnicodeDecodeError:
        raise _not_text(path) from None
    if "\0" in text:
        raise _not_text(path)
    ends = text.count("\n")
    if ends and text.count("\r\n") == ends == text.count("\r"):
        return TextFile(text.replace("\r\n", "\n"), "\r\n", has_mark)
    return TextFile(text, "\n", has_mark)


def image_kind(data: bytes) -> str | None:
    """The name of an image format, told by the file's first bytes."""
    for mark, offset, name in _IMAGES:
        if data[offset : offset + len(mark)] == mark and (name != "WebP" or data.startswith(b"RIFF")):
            return name
    return None


def _not_text(path: str) -> Exception:
    return cannot("not_text", f"{path} is not UTF-8 text", help="Shell has programs that look into other files.")
