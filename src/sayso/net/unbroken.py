"""Ends that must be reached: a piece of work that no cancellation of its caller may cut in two."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import anyio

__all__ = ("unbroken",)

T = TypeVar("T")


async def unbroken(work: asyncio.Future[T]) -> T:
    """Waits for `work` to its end. A cancellation that comes meanwhile is delivered afterwards, its result then lost.

    Both kinds are held back: cancel scopes, which cancel again at every wait, and plain `Task.cancel`, which does once.
    The work must bound itself: nothing here can hurry it.
    """
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not work.done():
            try:
                await asyncio.wait((work,))
            except asyncio.CancelledError as error:
                cancelled = error
    if cancelled is not None:
        raise cancelled
    return work.result()
