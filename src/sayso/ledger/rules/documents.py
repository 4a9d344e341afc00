"""The evidence of one export, taken in order: key sets first, each document referred to by a receipt, none twice."""

from __future__ import annotations

from collections.abc import Sequence

from sayso.core.refusal import Refused
from sayso.ledger.rules.evidence import KEY_SET, KeySet, read_key_set, verify_evidence
from sayso.ledger.rules.export import read_evidence
from sayso.ledger.rules.wire import Link

__all__ = ("Documents",)

UNUSED = "evidence_unused"


class Documents:
    """What receipts refer to, and what is there of it."""

    def __init__(self) -> None:
        self.signed = 0
        self._links: set[str] = set()
        self._found: set[str] = set()
        self._key_sets: dict[str, KeySet] = {}
        self._used: set[str] = set()

    @property
    def count(self) -> int:
        """Documents found, key sets among them."""
        return len(self._found)

    @property
    def absent(self) -> int:
        """Hashes that receipts refer to and no document has."""
        return len(self._links - self._found)

    def refer(self, links: Sequence[Link]) -> None:
        """Notes what a receipt rests on."""
        self._links.update([link.sha256 for link in links])

    def take(self, data: bytes) -> None:
        """The next document. Refused: `malformed_line`, `evidence_broken`, `evidence_unused`."""
        document = verify_evidence(read_evidence(data), self._key_sets)
        if document.sha256 in self._found:
            raise Refused.because(UNUSED, "it occurs twice")
        if document.media_type == KEY_SET:
            self._key_sets[document.sha256] = read_key_set(document.data)
        elif document.sha256 not in self._links:
            raise Refused.because(UNUSED, "no receipt refers to it")
        if document.verified_by is not None:
            self.signed += 1
            self._used.add(document.verified_by)
        self._found.add(document.sha256)

    def close(self) -> None:
        """After the last document. Refused: `evidence_unused` where nothing refers to a key set."""
        if idle := sorted(self._key_sets.keys() - self._used - self._links):
            raise Refused.because(UNUSED, f"nothing refers to the key set {idle[0]}")
