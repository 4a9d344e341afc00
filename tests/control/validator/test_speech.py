"""The short way of the validator: it takes what the long way would have taken, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sayso.control.protocol.conversation import Conversation
from sayso.control.protocol.envelope import Envelope, convert_envelope, write_envelope
from sayso.control.protocol.machine import Speech, step
from sayso.control.protocol.payloads.scalars import Wire
from sayso.control.validator.judging import judge
from sayso.control.validator.speech import read_speech
from sayso.core import strictjson
from tests.control.protocol.talk import begun, complete, say

PLAIN = [*begun(), *(say(number) for number in range(2, 9)), complete(9)]
LINES = [write_envelope(each) for each in PLAIN]
FIRST, LAST = 4, 9
"""The text that the long way has not to hear: all but the first of it."""
Change = Callable[[bytes], bytes]


def swap(old: bytes, new: bytes) -> Change:
    return lambda line: line.replace(old, new)


MISSHAPEN = [
    swap(b',"session_id":"s1","run_id":"r1"}', b',"session_id":"s1","run_id":"r1","run_id":"r1"}'),
    swap(b'"type":"text"', b'"type":"text","type":"text"'),
    swap(b'"text":"x"', b'"text":"x","more":1'),
    swap(b'"text":"x"', b'"text":1'),
    swap(b'"text":"x"', b'"text":"\\ud800"'),
    swap(b'"text":"x"', b'"text":"\xff"'),
    swap(b'"text":"x"', b'"text":"\x01"'),
    swap(b',"session_id":"s1"', b',"timestamp_ms":9223372036854775808,"session_id":"s1"'),
    swap(b'"sequence":', b'"timestamp_ms":1e400,"sequence":'),
    swap(b'"sequence":', b'"sequence":-'),
    swap(b'"run_id":"r1"}', b'"run_id":"r1","extensions":{"a":' + b"[" * 70 + b"]" * 70 + b"}}"),
    swap(b'"version":"0.1"', b'"version":"0.2"'),
    swap(b'"run_id":"r1",', b""),
    swap(b'"id":"', b'"id":"","x":"'),
    lambda line: line + b"}",
    lambda line: line[:-1],
    lambda line: b"\xef\xbb\xbf" + line,
]
OTHERWISE = [
    swap(b'"sequence":', b'"sequence":1'),
    swap(b'"run_id":"r1"', b'"run_id":"r2"'),
    swap(b'"session_id":"s1"', b'"session_id":"s2"'),
    lambda line: line.replace(b'"run_id":"r1"', b'"run_id":"r2"', 1),
    lambda line: line.replace(b'"session_id":"s1"', b'"session_id":"s2"', 1),
    swap(b'"id":"' + PLAIN[6].id.encode(), b'"id":"' + PLAIN[FIRST].id.encode()),
    swap(b'"id":"' + PLAIN[6].id.encode(), b'"id":"' + PLAIN[0].id.encode()),
    swap(b'"sequence":', b'"in_reply_to":"q9","sequence":'),
    lambda line: line + b"\n" + line,
    lambda line: b"",
    lambda line: b"\n \n" + line + b"\r",
    swap(b'"sequence":', b'"capability_revision":"other","sequence":'),
    swap(b'"sequence":', b'"more":1,"sequence":'),
]


def verdict(lines: list[bytes]) -> tuple[bool, int, list[tuple[str, int | None, int | None, str | None, str]]]:
    report = judge(b"\n".join(lines) + b"\n")
    told = [(each.code, each.index, each.line, each.envelope_id, each.message) for each in report.diagnostics]
    return report.valid, report.envelopes, told


def slowly(lines: list[bytes]) -> list[bytes]:
    """The same in words the short way does not know: the type is spelled with an escape."""
    return [line.replace(b'"content.delta"', b'"content.\\u0064elta"') for line in lines]


def reordered(line: bytes) -> bytes:
    """The same with its members in another order, where it can be read at all."""
    return line.replace(b'{"type":"content.delta",', b"{", 1)[:-1] + b',"type":"content.delta"}'


@pytest.mark.req("OAP-022", "OAP-023", "OAP-027")
@pytest.mark.parametrize("change", [*MISSHAPEN, *OTHERWISE])
def test_the_short_way_gives_every_verdict_of_the_long_one(change: Change) -> None:
    """One line changed, anywhere in the text: same report, also where the line is still what our writer writes."""
    for place in range(FIRST - 1, LAST + 1):
        trace = [*LINES[:place], change(LINES[place]), *LINES[place + 1 :]]
        assert verdict(trace) == verdict(slowly(trace))
        other = [reordered(line) if b"content.delta" in line else line for line in LINES]
        spoilt = [*other[:place], change(other[place]), *other[place + 1 :]]
        assert verdict(spoilt) == verdict(slowly(spoilt))
    assert verdict(LINES) == (True, len(LINES), [])


@pytest.mark.req("OAP-022", "OAP-023")
def test_the_short_way_reads_our_writing_and_nothing_misshapen() -> None:
    """All the text of a plain run, and no line that the strict reader refuses."""
    assert [read_speech(line) for line in LINES[FIRST:LAST]] == PLAIN[FIRST:LAST]
    assert [read_speech(reordered(line)) for line in LINES[FIRST:LAST]] == PLAIN[FIRST:LAST]
    assert read_speech(slowly(LINES)[5]) is None
    for change in MISSHAPEN:
        assert change(LINES[5]) != LINES[5]
        assert read_speech(change(LINES[5])) is None
        assert read_speech(reordered(change(LINES[5]))) is None


@pytest.mark.req("OAP-022")
def test_the_short_way_reads_only_what_its_type_holds() -> None:
    """A member it does not know may nest or count beyond what is read, so the long way looks at it."""
    for member in (b'"more":1', b'"more":' + b"[" * 70 + b"]" * 70, b'"more":9223372036854775808'):
        assert read_speech(reordered(LINES[5])[:-1] + b"," + member + b"}") is None
    assert read_speech(reordered(LINES[5]).replace(b'"version":"0.1",', b"")) is None


def told(sequence: int, **head: object) -> Envelope[Wire]:
    value = strictjson.parse(write_envelope(say(sequence)))
    assert isinstance(value, dict)
    return convert_envelope({**value, **head})


@pytest.mark.req("OAP-010", "OAP-027")
def test_speech_is_what_steps_one_by_one_without_a_fault() -> None:
    """Taken together, the conversation is what it is taken one by one; older ones still say what they said."""
    before = Conversation()
    for each in PLAIN[:FIRST]:
        before, _ = step(before, each)
    known, speech, slow = dict(before.ids), Speech(before, PLAIN[FIRST - 1]), before
    for each in PLAIN[FIRST:6]:
        assert speech.take(each)
    for wrong in (say(4), say(6), told(5, id=PLAIN[FIRST].id), told(5, id=PLAIN[0].id), told(5, run_id="r2")):
        assert not speech.take(wrong)
    together = speech.close(before)
    ids, runs = dict(together.ids), dict(together.runs)
    for each in PLAIN[FIRST:6]:
        slow, faults = step(slow, each)
        assert faults == ()
    assert (ids, runs) == (dict(slow.ids), dict(slow.runs))
    assert dict(before.ids) == known
    assert dict(together.ids) == ids
