"""Faults made of frames: how a stream is cut, what stands between its events, and where it ends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

__all__ = ("bare_cr", "commented", "comments_only", "crlf_cut", "cut_at", "every_byte")


def every_byte(frames: Sequence[bytes]) -> list[bytes]:
    """One byte at a time."""
    return [bytes((byte,)) for frame in frames for byte in frame]


def cut_at(frames: Sequence[bytes], places: Sequence[int]) -> list[bytes]:
    """The same bytes, cut at these places of the whole."""
    whole = b"".join(frames)
    bounds = [0, *sorted(place % (len(whole) + 1) for place in places), len(whole)]
    return [piece for start, end in pairwise(bounds) if (piece := whole[start:end])]


def crlf_cut(frames: Sequence[bytes]) -> list[bytes]:
    """Lines end in CRLF, and every chunk ends between the two."""
    pieces = b"".join(frames).replace(b"\n", b"\r\n").split(b"\r")
    return [*(piece + b"\r" for piece in pieces[:-1]), pieces[-1]]


def bare_cr(frames: Sequence[bytes]) -> list[bytes]:
    """Lines end in a carriage return alone."""
    return [frame.replace(b"\n", b"\r") for frame in frames]


def commented(frames: Sequence[bytes]) -> list[bytes]:
    """A comment and an empty event before each event, as keepalives are sent."""
    return [b": ping\n\n" + frame for frame in frames]


def comments_only() -> list[bytes]:
    """Nothing but keepalives."""
    return [b": ping\n\n"] * 3
