"""Routes for everything beneath a prefix, so that no spelling of a path leads past a door (GTW-007).

A router's own `path` stops at a line feed, which `%0A` puts into a path: the request would then be answered by nobody's
door, without a receipt. This one takes every character.
"""

from __future__ import annotations

from starlette.convertors import PathConvertor, register_url_convertor
from starlette.routing import Route
from starlette.types import ASGIApp

__all__ = ("beneath",)


class _Anything(PathConvertor):
    regex = "(?s:.*)"


register_url_convertor("anything", _Anything())


def beneath(base: str, app: ASGIApp) -> list[Route]:
    """The routes of `base` and of every path that begins with it and a slash, whatever the method."""
    return [Route(base, endpoint=app), Route(base + "/{rest:anything}", endpoint=app)]
