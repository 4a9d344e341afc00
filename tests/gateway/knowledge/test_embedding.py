"""The model says what its package says, to the digit that is kept; nearness is what the cosines are."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
import wordllama
from hypothesis import given, settings
from hypothesis import strategies as st

from sayso.gateway.knowledge.domains import load_domains
from sayso.gateway.knowledge.embedding import DIMENSIONS, Nearness, closeness, likeness
from tests.gateway.knowledge.shelf import domains, model

PACKAGE = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, dim=DIMENSIONS, disable_download=True)


def signed(vector: bytes) -> numpy.ndarray:
    return numpy.frombuffer(vector, dtype="int8").astype("float64")


@pytest.mark.req("GTW-043")
def test_vectors_are_the_packages_own() -> None:
    """256 times its unit vectors, rounded."""
    texts = [each.text for each in load_domains().all()[:50]]
    theirs = PACKAGE.embed(texts, norm=True) * 256
    ours = numpy.array([signed(each) for each in model().embed(texts)])
    assert numpy.abs(theirs - ours).max() < 0.51


@pytest.mark.req("GTW-043")
@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80), st.text(max_size=80))
def test_a_vector_depends_on_its_text_alone(first: str, second: str) -> None:
    """Whatever is embedded beside it; and any text has one."""
    alone, beside = model().embed([first])[0], model().embed([second, first])[1]
    assert alone == beside
    assert len(alone) == DIMENSIONS


@pytest.mark.req("GTW-043")
def test_the_nearest_are_those_with_the_greatest_cosines() -> None:
    """Nearest first, three at most, none that is far."""
    every = domains().all()
    vectors = model().embed([each.text for each in every])
    near = Nearness([each.key for each in every], vectors)
    asked = model().embed(["solar panels on the roof of a railway station"])[0]
    unit = signed(asked) / numpy.linalg.norm(signed(asked))
    cosines = {
        each.key: float(signed(v) @ unit / numpy.linalg.norm(signed(v))) for each, v in zip(every, vectors, strict=True)
    }
    best = sorted(cosines, key=lambda key: -cosines[key])[:3]
    assert near.nearest(asked) == [(key, closeness(cosines[key])) for key in best if closeness(cosines[key]) >= 300]
    assert near.nearest(asked)[0][0] == "energy.solar"
    assert near.nearest(model().embed(["zzz qqq"])[0]) == []


def test_measures_begin_and_end_where_they_say() -> None:
    """Closeness is a line between two cosines; likeness the cosine behind a distance."""
    assert [closeness(each) for each in (-1.0, 0.2, 0.375, 0.55, 1.0)] == [0, 0, 500, 1000, 1000]
    assert [likeness(each) for each in (0.0, 256.0, 256 * 2**0.5)] == [1000, 500, 0]
