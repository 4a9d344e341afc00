"""A no that carries what to do about it."""

from __future__ import annotations

from sayso.core.refusal import Corrupt, Misuse, PeerRefused, PeerUnreachable, Refusal, Refused


def test_a_refusal_reads_as_one_sentence_with_place_and_advice() -> None:
    """Whoever faces a person prints it as it is."""
    refused = Refused.because("no", "This is not possible.", reason="why", place="$.a", help="Try b.", details={"n": 1})
    expected = Refusal(
        code="no", message="This is not possible.", reason="why", place="$.a", help="Try b.", details={"n": 1}
    )
    assert refused.refusal == expected
    assert str(refused) == "This is not possible ($.a). Try b."


def test_the_four_kinds_are_told_apart() -> None:
    """Nobody catches one by catching another."""
    kinds = (Refused, PeerRefused, PeerUnreachable, Corrupt, Misuse)
    assert not any(issubclass(one, other) for one in kinds for other in kinds if one is not other)


def test_a_peers_no_names_the_peer() -> None:
    """Our user knows it by that name."""
    refusal = Refusal(code="taken", message="That time is taken.")
    assert str(PeerRefused("Maple Street Auto", refusal)) == "Maple Street Auto: That time is taken."
    assert str(PeerUnreachable("Maple", "timed out")) == "Maple could not be reached: timed out"
    assert str(Corrupt("a hash does not fit", "record 7")) == "a hash does not fit at record 7"
