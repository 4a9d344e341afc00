"""The thousand domains that come with the package, read once a process (GTW-041, GTW-043)."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from sayso.gateway.knowledge.rules.taxonomy import Domains, read_domains

__all__ = ("domains_file", "load_domains")


def domains_file() -> bytes:
    """The data file as it lies in the package."""
    return (files("sayso.gateway.knowledge") / "domains.tsv").read_bytes()


@cache
def load_domains() -> Domains:
    """The checked taxonomy. Raises `Corrupt` where the package's own file breaks a rule."""
    return read_domains(domains_file())
