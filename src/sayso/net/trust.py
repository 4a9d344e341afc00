"""Whose certificates are believed: the system's store, or the one the operator named in SSL_CERT_FILE or SSL_CERT_DIR.

A store takes longer to load than most requests take, so each is loaded once in a process.
"""

from __future__ import annotations

import os
import ssl
from functools import cache

import httpcore2

__all__ = ("trusted_certificates",)


def trusted_certificates() -> ssl.SSLContext:
    """The context a client of ours verifies with. Shared: nobody changes it."""
    return _loaded(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _loaded(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """By what the environment says, which the library reads for itself."""
    return httpcore2.default_ssl_context()
