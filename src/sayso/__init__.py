"""sayso: agents act on your say-so, and can prove it."""

__all__ = ("__version__",)

__version__ = "0.1.0"
