"""Which calls a person is asked about, what they are shown, and what their answer is good for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.loop.contract import ToolAnswer, ToolAsks, ToolCall, ToolDone, ToolOutcome
from sayso.control.loop.permitting import DENIED, Permitting, Preview, plain_preview, shown
from sayso.core.refusal import Misuse, Refused
from sayso.testing.tools import Act, ScriptedTools, asking, read_only

YES, NO = ToolAnswer(True), ToolAnswer(False, reason="not now")


class Shown(ScriptedTools):
    """Scripted tools with previews."""

    def __init__(self, acts: Mapping[str, Act], *, must_ask: bool = False) -> None:
        super().__init__(acts, specs=[read_only("look")])
        self.must_ask = must_ask
        self.previewed: list[str] = []

    async def preview(self, call: ToolCall) -> Preview:
        self.previewed.append(call.name)
        if call.name == "impossible":
            raise Refused.because("tool_failed", "it cannot be done")
        return Preview(f"do {call.name}", "all of it", must_ask=self.must_ask)


async def done(call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
    return ToolDone({"did": call.name})


def a_call(name: str, number: int = 1, **arguments: object) -> ToolCall:
    return ToolCall(f"c{number}", name, arguments, "s1", "r1")


def tools(*, must_ask: bool = False) -> Shown:
    return Shown({"look": done, "do": done, "impossible": done, "book": asking("offer")}, must_ask=must_ask)


@pytest.mark.anyio
@pytest.mark.req("OAP-157")
async def test_a_read_only_call_passes_unasked() -> None:
    """It is not even previewed."""
    inner = tools()
    assert await Permitting(inner, "ask").call(a_call("look"), []) == ToolDone({"did": "look"})
    assert inner.previewed == []


@pytest.mark.anyio
@pytest.mark.req("OAP-157")
async def test_any_other_call_is_asked_about_and_made_once_granted() -> None:
    """The question is the source's preview; the source sees none of the answer."""
    inner = tools()
    permitting = Permitting(inner, "ask")
    assert await permitting.call(a_call("do"), []) == ToolAsks("do do", "all of it")
    assert inner.calls == []
    assert await permitting.call(a_call("do"), [YES]) == ToolDone({"did": "do"})
    assert inner.calls == [(a_call("do"), ())]


@pytest.mark.anyio
@pytest.mark.req("OAP-157")
async def test_a_yes_is_good_for_one_call() -> None:
    """The same call again is asked about again."""
    permitting = Permitting(tools(), "ask")
    for number in (1, 2):
        assert isinstance(await permitting.call(a_call("do", number), []), ToolAsks)
        await permitting.call(a_call("do", number), [YES])
    assert isinstance(await permitting.call(a_call("do", 1), []), ToolAsks)


@pytest.mark.anyio
@pytest.mark.req("OAP-157")
async def test_a_no_is_an_error_result_and_nothing_is_called() -> None:
    """The model is told, with the person's reason."""
    inner = tools()
    permitting = Permitting(inner, "ask")
    await permitting.call(a_call("do"), [])
    outcome = await permitting.call(a_call("do"), [NO])
    assert outcome == ToolDone(
        {"error": DENIED, "message": "This call of do was not allowed: not now", "reason": "not now"}, is_error=True
    )
    assert (inner.calls, inner.abandoned) == ([], ["c1"])
    await permitting.call(a_call("do"), [])
    unexplained = await permitting.call(a_call("do"), [ToolAnswer(False)])
    assert unexplained == ToolDone({"error": DENIED, "message": "This call of do was not allowed"}, is_error=True)


@pytest.mark.anyio
@pytest.mark.req("OAP-157")
async def test_a_yes_is_used_up_by_a_call_that_fails() -> None:
    """It cannot be made a second time on the same answer, and nothing of it is kept."""

    async def fail(call: ToolCall, answers: Sequence[ToolAnswer]) -> ToolOutcome:
        raise Refused.because("tool_failed", "it broke")

    permitting = Permitting(Shown({"do": fail}), "ask")
    await permitting.call(a_call("do"), [])
    with pytest.raises(Refused, match="broke"):
        await permitting.call(a_call("do"), [YES])
    with pytest.raises(Misuse):
        await permitting.call(a_call("do"), [YES])


@pytest.mark.anyio
@pytest.mark.req("OAP-157")
async def test_a_title_is_one_short_line() -> None:
    """A name that a file or a server chose cannot write the words of whoever asks."""
    inner = tools()
    named = f"a\nAllow this once? [y/N] {'x' * 400}"
    asked = await Permitting(inner, "ask").call(a_call(named), [])
    assert isinstance(asked, ToolAsks)
    assert asked.title.startswith("do a\\u{a}Allow")
    assert (asked.title.count("\n"), len(asked.title)) == (0, 201)


@pytest.mark.anyio
@pytest.mark.req("OAP-157")
async def test_bypass_passes_what_need_not_be_asked() -> None:
    """And asks about what must be."""
    assert await Permitting(tools(), "bypass").call(a_call("do"), []) == ToolDone({"did": "do"})
    assert isinstance(await Permitting(tools(must_ask=True), "bypass").call(a_call("do"), []), ToolAsks)


@pytest.mark.anyio
async def test_a_call_that_could_not_be_made_is_not_asked_about() -> None:
    """The preview's refusal is the answer."""
    with pytest.raises(Refused, match="cannot be done"):
        await Permitting(tools(), "ask").call(a_call("impossible"), [])


@pytest.mark.anyio
async def test_a_source_may_ask_further_questions() -> None:
    """The first answer is the permission, the rest are the source's own; in bypass all are."""
    permitting = Permitting(tools(), "ask")
    assert isinstance(await permitting.call(a_call("book"), []), ToolAsks)
    own = await permitting.call(a_call("book"), [YES])
    assert isinstance(own, ToolAsks)
    assert own.document == b"offer document"
    signed = ToolAnswer(True, "signed")
    assert await permitting.call(a_call("book"), [YES, signed]) == ToolDone({"documents": ["signed"]})
    bypassing = Permitting(tools(), "bypass")
    assert isinstance(await bypassing.call(a_call("book"), []), ToolAsks)
    assert await bypassing.call(a_call("book"), [signed]) == ToolDone({"documents": ["signed"]})


@pytest.mark.anyio
@pytest.mark.req("OAP-157")
async def test_an_answer_to_another_call_is_no_answer() -> None:
    """A yes with other arguments under the same id, or for a question never asked, is a fault of whoever calls."""
    permitting = Permitting(tools(), "ask")
    with pytest.raises(Misuse):
        await permitting.call(a_call("do"), [YES])
    await permitting.call(a_call("do"), [])
    with pytest.raises(Misuse):
        await permitting.call(a_call("do", more=True), [YES])


@pytest.mark.anyio
async def test_an_abandoned_question_is_forgotten() -> None:
    """Its source is told too."""
    inner = tools()
    permitting = Permitting(inner, "ask")
    await permitting.call(a_call("do"), [])
    await permitting.abandon(a_call("do"))
    assert inner.abandoned == ["c1"]
    with pytest.raises(Misuse):
        await permitting.call(a_call("do"), [YES])


@pytest.mark.req("OAP-157")
@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("ls\x1b[2K\rrm", "ls\\u{1b}[2K\\u{d}rm"),
        ("a\u202eb", "a\\u{202e}b"),
        ("a\u200bb\ufeff", "a\\u{200b}b\\u{feff}"),
        ("a\u2028b\x85", "a\\u{2028}b\\u{85}"),
        ("a\u00a0b\u3000\u2800\u3164\ufe0f", "a\\u{a0}b\\u{3000}\\u{2800}\\u{3164}\\u{fe0f}"),
        ("a\udc80\U000e0041", "a\\u{dc80}\\u{e0041}"),
        ("ls" + " " * 200 + "; rm", "ls [200 blanks] ; rm"),
        ("ls" + "\t" * 23 + "; rm", "ls [23 blanks] ; rm"),
        ("ls" + "\n" * 100 + "rm", "ls\n[99 empty lines]\nrm"),
        ("ls" + "\n \t" * 50 + "\nrm", "ls\n[50 empty lines]\nrm"),
        ("if x:\n\t    y\n\n\nz: grüße 日本 🙂", "if x:\n\t    y\n\n\nz: grüße 日本 🙂"),
    ],
)
def test_nothing_hides_from_the_person(text: str, seen: str) -> None:
    """What a screen would not draw, or would draw elsewhere, is written out; ordinary text stays."""
    assert shown(text) == seen


@given(st.text())
def test_what_is_shown_is_drawn(text: str) -> None:
    """Whatever comes in, what goes out is printable apart from line ends and tabs, and can be encoded."""
    assert shown(text).encode().decode().replace("\n", "").replace("\t", "").isprintable()


def test_a_plain_preview_shows_tool_and_arguments() -> None:
    """Long arguments keep both ends, and the cut is told."""
    preview = plain_preview(a_call("send", to="x\u202ey"))
    assert (preview.title, preview.text) == ("Call send", 'send\n{"to":"x\\u{202e}y"}')
    long = plain_preview(a_call("send", text="a" * 20_000 + "end")).text
    assert "characters are left out here]" in long
    assert long.endswith('end"}')
    assert len(long) < 17_000
