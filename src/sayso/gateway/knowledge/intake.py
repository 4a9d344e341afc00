"""The cognition bridge: a document becomes passages with vectors, places and evidence (GTW-006, GTW-043).

This is what takes time, and it takes it before the unit of work: model and rules run on a thread of the readers, on one
snapshot. The unit (`memory.ingest_in`) only writes.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from sayso.core.refusal import Refused
from sayso.gateway.knowledge.embedding import Embedder, Nearness, likeness
from sayso.gateway.knowledge.finding import by_other_writers
from sayso.gateway.knowledge.rows import ByKind, Source, find_passage
from sayso.gateway.knowledge.rules.confidence import THOUSAND
from sayso.gateway.knowledge.rules.evidence import Finding, Likeness, Place, Read, find_evidence
from sayso.gateway.knowledge.rules.passages import split
from sayso.gateway.knowledge.rules.taxonomy import Domains
from sayso.proof.hashes import sha256_b64u
from sayso.store.unit import Reading

__all__ = ("Ingest", "Ingested", "Reader", "Seen")

_STATED_AT_LEAST = 500
_ALIKE_AT_LEAST = 700
_LONGEST_TITLE = 200
_MOST_DOMAINS = 8
BAD_DOCUMENT = "document_not_acceptable"


class Ingest(msgspec.Struct, frozen=True, kw_only=True):
    """A document to be taken in.

    `by` is who wrote it, an agent's or a person's id; `run_id` the assigned run it came out of; `content_sha256` the
    hash (base64url) of the bytes it came in, its text's if left out. `confidence` is how sure the writer claims to be,
    in thousandths. `id` makes taking it in twice the same as once. `cites` are observations a proposal rests on.
    """

    title: str
    text: str
    source: Source
    by: str
    by_kind: ByKind
    domain_keys: tuple[str, ...] = ()
    run_id: str | None = None
    content_sha256: str | None = None
    confidence: int = THOUSAND
    id: str | None = None
    cites: tuple[str, ...] = ()


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One passage on its way in. `vector` is None where no model is installed."""

    start: int
    stop: int
    text: str
    text_sha256: str
    vector: bytes | None
    places: tuple[Place, ...]
    findings: tuple[Finding, ...] = ()


class Ingested(msgspec.Struct, frozen=True, kw_only=True):
    """A document that was read and can be written: nothing is stored yet."""

    ingest: Ingest
    content_sha256: str
    seen: tuple[Seen, ...]


class Reader:
    """Reads documents for one owner, with or without a model."""

    def __init__(self, owner: str, domains: Domains) -> None:
        self._owner = owner
        self._domains = domains

    def check(self, ingest: Ingest) -> None:
        """Refused: `unknown_domain` and `document_not_acceptable`, naming the member."""
        for index, key in enumerate(ingest.domain_keys):
            self._domains.find(key, place=f"$.domain_keys[{index}]")
        if len(set(ingest.domain_keys)) != len(ingest.domain_keys) or len(ingest.domain_keys) > _MOST_DOMAINS:
            raise _not_acceptable(f"a document names at most {_MOST_DOMAINS} domains, each once", "$.domain_keys")
        if not ingest.title.strip() or len(ingest.title) > _LONGEST_TITLE:
            raise _not_acceptable(f"a title has 1 to {_LONGEST_TITLE} characters", "$.title")
        for name in ("title", "text"):
            if "\0" in getattr(ingest, name):
                raise _not_acceptable("a document holds no NUL", f"$.{name}")

    def read(
        self, view: Reading, ingest: Ingest, embedder: Embedder | None, near: Nearness | None, *, measures: bool
    ) -> Ingested:
        """Cuts, embeds, places and weighs. Refused: as `check`, and `empty_document`, `document_too_long`."""
        self.check(ingest)
        spans = split(ingest.text)
        texts = [ingest.text[span.start : span.stop] for span in spans]
        vectors: Sequence[bytes | None] = [None] * len(texts) if embedder is None else embedder.embed(texts)
        seen = []
        for number, (span, text, vector) in enumerate(zip(spans, texts, vectors, strict=True)):
            places = self._places(ingest, vector, near)
            alike: list[Likeness] = []
            if embedder is not None and vector is not None and measures:
                alike = self._alike(view, ingest.by, embedder.model, vector, places)
            proposes = ingest.domain_keys if ingest.source == "proposal" and number == 0 else ()
            read = Read(text=text, places=places, likenesses=alike, confidence=ingest.confidence, proposes=proposes)
            seen.append(
                Seen(
                    start=span.start,
                    stop=span.stop,
                    text=text,
                    text_sha256=sha256_b64u(text.encode()),
                    vector=vector,
                    places=places,
                    findings=tuple(find_evidence(read, self._domains.apart)),
                )
            )
        content = ingest.content_sha256 or sha256_b64u(ingest.text.encode())
        return Ingested(ingest=ingest, content_sha256=content, seen=tuple(seen))

    def _places(self, ingest: Ingest, vector: bytes | None, near: Nearness | None) -> tuple[Place, ...]:
        """The domains the writer named, at least half close, and those that are near, in the order of their keys."""
        found = {key: Place(key, _STATED_AT_LEAST, stated=True) for key in ingest.domain_keys}
        if near is not None and vector is not None:
            for key in ingest.domain_keys:
                found[key] = Place(key, max(_STATED_AT_LEAST, near.closeness_to(key, vector)), stated=True)
            for key, close in near.nearest(vector):
                found.setdefault(key, Place(key, close, stated=False))
        return tuple(found[key] for key in sorted(found))

    def _alike(self, view: Reading, writer: str, model: str, vector: bytes, places: Sequence[Place]) -> list[Likeness]:
        found = []
        for place in places:
            other = by_other_writers(view, self._owner, place.domain_key, writer, model, vector)
            if other is None or (alike := likeness(other.distance)) < _ALIKE_AT_LEAST:
                continue
            passage = find_passage(view, self._owner, other.observation)
            if passage is not None:
                found.append(Likeness(place.domain_key, passage.observation, passage.text, alike))
        return found


def _not_acceptable(message: str, place: str) -> Refused:
    return Refused.because(BAD_DOCUMENT, message, place=place)
