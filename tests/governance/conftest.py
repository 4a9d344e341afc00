"""The fixtures these tests share."""

from sayso.testing.store import clock

__all__ = ("clock",)
