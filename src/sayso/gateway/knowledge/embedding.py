"""Texts as vectors, by a model whose weights ship in a package: nothing is downloaded, ever (GTW-043).

A vector is 256 signed bytes, 256 times the unit vector's components, rounded: a quarter of the room of floats, and
distances of whole numbers are exact, so both engines put the same passages into the same order. The `semantic` extra
brings the model and numpy; both are imported when a model is first loaded, never before.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sayso.gateway.knowledge.rules.confidence import THOUSAND

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ("DIMENSIONS", "Embedder", "Nearness", "WordLlama", "closeness", "is_installed", "likeness")

DIMENSIONS = 256
_SCALE = 256
_LARGEST = 127
# Cosines of this model: two descriptions of a thousand subjects have 0.05 in the middle and 0.27 in the top hundredth;
# a plain question and the subject that answers it have 0.36 in the middle. What lies between is close in part.
_FAR, _CLOSE = 0.20, 0.55
_NEAR_AT_LEAST = 300
_MOST_NEAR = 3


class Embedder(Protocol):
    """A model: its name, which every vector keeps, and what it makes of texts."""

    model: str

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text. Safe from any thread; takes CPU, so never on an event loop."""
        ...


def is_installed() -> bool:
    """Whether the `semantic` extra is there."""
    return find_spec("wordllama") is not None and find_spec("numpy") is not None


class WordLlama:
    """Token vectors, averaged: some 50,000 short texts a second on one core."""

    model = "wordllama/l2_supercat_256"

    def __init__(self) -> None:
        """Loads the weights (16 MB, about half a second). ImportError where the extra is not installed."""
        package = import_module("wordllama")
        folder = Path(str(package.__file__)).parent
        self._model: Any = package.WordLlama.load(cache_dir=folder, dim=DIMENSIONS, disable_download=True)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        # As the package's own `embed` does, but one by one: in a batch the padding changes the order of a sum and with
        # it, once in a while, the last digit; and a batch starts the tokenizer's threads, which do not outlive a fork.
        return [_as_bytes(self._average(text)) for text in texts]

    def _average(self, text: str) -> NDArray[Any]:
        tokens = self._model.tokenizer.encode(text or " ", add_special_tokens=False).ids
        found: NDArray[Any] = self._model.embedding[tokens].sum(axis=0)
        return found


class Nearness:
    """Which of a fixed set of vectors are nearest to another; here, the domains."""

    def __init__(self, keys: Sequence[str], vectors: Sequence[bytes]) -> None:
        # In the order of the keys, so that a stable sort puts equals into it.
        pairs = sorted(zip(keys, vectors, strict=True))
        self._keys = tuple(key for key, _ in pairs)
        self._rows = _units([vector for _, vector in pairs])

    def nearest(self, vector: bytes, count: int = _MOST_NEAR) -> list[tuple[str, int]]:
        """The nearest `count` keys that are near at all, with their closeness, nearest first."""
        cosines = self._rows @ _units([vector])[0]
        order = (-cosines).argsort(kind="stable")[:count]
        found = [(self._keys[index], closeness(float(cosines[index]))) for index in order]
        return [each for each in found if each[1] >= _NEAR_AT_LEAST]

    def closeness_to(self, key: str, vector: bytes) -> int:
        """How close a vector is to one of the keys."""
        return closeness(float(self._rows[self._keys.index(key)] @ _units([vector])[0]))


def closeness(cosine: float) -> int:
    """Thousandths: 0 up to the cosine 0.20, 1000 from 0.55, in a straight line between."""
    return round(THOUSAND * min(1.0, max(0.0, (cosine - _FAR) / (_CLOSE - _FAR))))


def likeness(distance: float) -> int:
    """The cosine, in thousandths, of two vectors that are so far apart: both are of length 256."""
    return round(THOUSAND * (1 - (distance / _SCALE) ** 2 / 2))


def _as_bytes(found: NDArray[Any]) -> bytes:
    numpy = import_module("numpy")
    length = float(numpy.linalg.norm(found))
    scaled = numpy.rint(found * (_SCALE / length)) if length else found
    return bytes(numpy.clip(scaled, -_LARGEST, _LARGEST).astype("int8").tobytes())


def _units(vectors: Sequence[bytes]) -> NDArray[Any]:
    numpy = import_module("numpy")
    rows = numpy.frombuffer(b"".join(vectors), dtype="int8").reshape(len(vectors), DIMENSIONS).astype("float32")
    lengths = numpy.linalg.norm(rows, axis=1, keepdims=True)
    found: NDArray[Any] = rows / numpy.where(lengths == 0, 1, lengths)
    return found
