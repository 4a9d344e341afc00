"""Long texts cut to a bound, so that whoever reads one sees that it was cut, where, and by how much."""

from __future__ import annotations

__all__ = ("beginning", "both_ends")


def beginning(text: str, limit: int) -> str:
    """The text, or its first `limit` characters and how many are missing behind them."""
    over = len(text) - limit
    return text if over <= 0 else f"{text[:limit]}[{over} characters are not shown]"


def both_ends(text: str, limit: int) -> str:
    """The text, or `limit` characters of its two ends and how many are missing between them, on a line of its own."""
    over = len(text) - limit
    if over <= 0:
        return text
    head = limit // 2
    return f"{text[:head]}\n[{over} characters are left out here]\n{text[head + over :]}"
