"""Walks every route of an application and finds those that lead past the guard (GTW-007).

    assert ungoverned(app) == []

Wrappers are looked through: an application that stands around another (as `app` or `_app`) is what it holds. What is
left is governed if it is a door's application, or declared public with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sayso.gateway.doors.door import DoorApp, PublicApp

__all__ = ("public_paths", "ungoverned", "walk_routes")


def walk_routes(app: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every path of an application or a list of routes, with the application that answers there."""
    while True:
        if isinstance(app, DoorApp | PublicApp):
            yield prefix or "/", app
            return
        routes = app if isinstance(app, list | tuple) else getattr(app, "routes", None)
        if routes:
            for route in routes:
                yield from walk_routes(getattr(route, "app", route), prefix + getattr(route, "path", ""))
            return
        inside = getattr(app, "app", None) or getattr(app, "_app", None)
        if inside is None:
            yield prefix or "/", app
            return
        app = inside


def ungoverned(app: Any) -> list[str]:
    """The paths where anything may answer without the guard; also one `/` for an application with no route at all."""
    return [path for path, found in walk_routes(app) if not isinstance(found, DoorApp | PublicApp)]


def public_paths(app: Any) -> dict[str, str]:
    """The paths that need no key, with what makes that right."""
    return {path: found.why for path, found in walk_routes(app) if isinstance(found, PublicApp)}
