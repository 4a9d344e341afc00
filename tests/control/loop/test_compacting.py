"""When history is summarised, what of it, and that what comes out is a history again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sayso.control.loop.compacting import (
    ASSUMED_WINDOW,
    Cut,
    Reported,
    cut_of,
    history_tokens,
    is_due,
    message_tokens,
    replaced,
    summary_of,
    summary_request,
    text_tokens,
    threshold,
)
from sayso.control.loop.conversations import Compacted, after_compaction, is_summary
from sayso.control.loop.history import repair
from sayso.control.protocol.payloads.content import (
    Image,
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
    text_of,
)
from sayso.control.protocol.payloads.scalars import UNSET
from sayso.control.protocol.payloads.session import CompactionPolicy
from sayso.core import strictjson
from sayso.core.refusal import Refused
from tests.control.loop.test_history import is_sound

AUTO, OFF = CompactionPolicy(kind="auto"), CompactionPolicy(kind="off")
SUMMARY = Message(role="assistant", content="They went to the shop.")
PICTURE = ImagePart(image=Image(data="aGlkZGVu", media_type="image/png"))


def share(percent: int) -> CompactionPolicy:
    return CompactionPolicy(kind="share", share_percent=percent)


def tokens(count: int) -> CompactionPolicy:
    return CompactionPolicy(kind="tokens", tokens=count)


def user(text: str) -> Message:
    return Message(role="user", content=text)


def says(text: str) -> Message:
    return Message(role="assistant", content=text)


def calls(*names: str, size: int = 0) -> Message:
    parts = (ToolCallPart(tool_call_id=each, name="look", arguments_json={"q": "x" * size}) for each in names)
    return Message(role="assistant", content=tuple(parts))


def results(*names: str, size: int = 0) -> Message:
    return Message(role="tool", content=tuple(ToolResultPart(tool_call_id=each, result="r" * size) for each in names))


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """Sound histories of texts, calls and steers, with sizes from nothing to more than what is kept of a window."""
    messages: list[Message] = []
    for number in range(draw(st.integers(0, 12))):
        size = draw(st.sampled_from([0, 10, 1000, 8000]))
        match draw(st.sampled_from(["user", "answer", "calls"])):
            case "user":
                messages.append(user("u" * size))
            case "answer":
                messages.append(says("a" * size))
            case _:
                names = [f"c{number}.{each}" for each in range(draw(st.integers(1, 3)))]
                messages += [calls(*names, size=size), results(*names, size=size)]
    return tuple(messages)


WINDOWS = st.sampled_from([None, 2000, 8000, 200_000])


# --- when ------------------------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-162")
@pytest.mark.parametrize(
    ("policy", "window", "expected"),
    [
        (AUTO, 200_000, 160_000),
        (UNSET, 200_000, 160_000),
        (AUTO, None, ASSUMED_WINDOW * 8 // 10),
        (share(50), 10_000, 5000),
        (share(100), 10_000, 9500),
        (share(50), None, ASSUMED_WINDOW // 2),
        (tokens(700), 10_000, 700),
        (tokens(700), None, 700),
        (tokens(1_000_000), 10_000, 9500),
        (OFF, 10_000, None),
    ],
)
def test_each_policy_has_its_threshold(policy: CompactionPolicy, window: int | None, expected: int | None) -> None:
    """`auto` is 80 percent; no policy waits until a request fills the window."""
    assert threshold(policy, window) == expected
    if expected is not None:
        assert [is_due(count, policy, window) for count in (expected - 1, expected)] == [False, True]
    else:
        assert not is_due(10**9, policy, window)


@pytest.mark.req("OAP-162")
def test_what_the_vendor_counted_is_believed_and_only_what_came_after_is_estimated() -> None:
    """The system message and the tools are in the vendor's figure already."""
    messages = (user("x" * 400), says("y" * 400), user("z" * 40))
    reported = Reported(Usage(input_tokens=5000, output_tokens=70), covers=2)
    assert history_tokens(messages, reported, beside=900) == 5070 + message_tokens(messages[2])
    assert history_tokens(messages, Reported(Usage(total_tokens=42), covers=3)) == 42


@pytest.mark.parametrize(
    "reported",
    [None, Reported(Usage(), covers=2), Reported(Usage(output_tokens=3), covers=2), Reported(Usage(input_tokens=1), 9)],
)
def test_without_a_usable_figure_all_of_it_is_estimated(reported: Reported | None) -> None:
    """Nothing reported, no input counted, or a figure for a longer history than there is."""
    messages = (user("x" * 400), says("y" * 400))
    assert history_tokens(messages, reported, beside=900) == 900 + 2 * 104


def test_the_estimate_counts_each_kind_of_part() -> None:
    """A token for four ASCII characters, one for each other, 1600 for a picture, 4 for the message."""
    assert [text_tokens(text) for text in ("", "a", "abcd", "abcde", "日本", "ab日")] == [0, 1, 1, 2, 2, 2]
    carry = ToolCallPart(tool_call_id="c", name="look", arguments_json={"a": 1}, carry="k" * 40)
    assert message_tokens(Message(role="assistant", content=(carry,))) == 4 + 1 + 2 + 10
    thought = ReasoningPart(reasoning="t" * 40, carry="k" * 8)
    parts = (TextPart(text="abcd"), PICTURE, thought)
    assert message_tokens(Message(role="user", content=parts)) == 4 + 1 + 1600 + 12
    assert message_tokens(results("c", size=8)) == 4 + 2


# --- what ------------------------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-162", "OAP-164")
@given(histories(), WINDOWS, st.booleans())
def test_a_compacted_history_is_sound_and_smaller_and_keeps_what_the_user_said_last(
    messages: tuple[Message, ...], window: int | None, requested: bool
) -> None:
    """No call loses its result, whatever is cut; the tail is the old one, message by message."""
    cut = cut_of(messages, window=window, requested=requested)
    if cut is None:
        return
    after, step = replaced(messages, cut, SUMMARY)
    assert is_sound(after)
    assert repair(after) == after
    assert is_summary(after[0])
    assert after[len(after) - step.kept :] == messages[cut.at :]
    asked = [message for message in messages if message.role == "user"]
    assert not asked or any(message is asked[-1] for message in after)
    assert after_compaction(messages, step) == after
    gone = [message for place, message in enumerate(messages[: cut.at]) if place != cut.asked]
    assert cut.tokens == sum(map(message_tokens, gone))


@pytest.mark.req("OAP-162")
@given(histories(), WINDOWS, st.booleans())
def test_compacting_twice_is_compacting_once(
    messages: tuple[Message, ...], window: int | None, requested: bool
) -> None:
    """What was compacted has nothing in it that the same compaction would cut again."""
    cut = cut_of(messages, window=window, requested=requested)
    if cut is not None:
        after, _ = replaced(messages, cut, SUMMARY)
        assert cut_of(after, window=window, requested=requested) is None


@given(histories(), WINDOWS)
def test_what_a_policy_has_summarised_is_worth_it(messages: tuple[Message, ...], window: int | None) -> None:
    """At least a fourth of history goes, so that no run compacts again and again for nothing."""
    cut = cut_of(messages, window=window)
    if cut is not None:
        assert cut.tokens * 4 >= sum(map(message_tokens, messages))


@pytest.mark.req("OAP-162")
def test_a_request_cuts_everything_before_the_last_turn() -> None:
    """The question of that turn stays with its answer."""
    messages = (user("one"), says("1"), user("two"), says("2"))
    cut = cut_of(messages, requested=True)
    assert cut == Cut(2, None, message_tokens(messages[0]) + message_tokens(messages[1]))
    after, _ = replaced(messages, cut, SUMMARY)
    assert after[1:] == messages[2:]


@pytest.mark.req("OAP-162")
def test_a_long_turn_is_cut_inside_and_its_question_stays_with_its_picture() -> None:
    """Twenty calls after one message: the old ones go, the message does not, nor what is attached to it."""
    question = Message(role="user", content=(TextPart(text="what is this?"), PICTURE))
    turns = [each for n in range(20) for each in (calls(f"c{n}"), results(f"c{n}", size=4000))]
    messages = (question, *turns)
    cut = cut_of(messages, window=20_000)
    assert cut is not None
    assert cut.asked == 0
    after, step = replaced(messages, cut, SUMMARY)
    assert after[1] is question
    assert step.asks
    assert [each.role for each in after[2:4]] == ["assistant", "tool"]
    assert 3 * 1000 < sum(map(message_tokens, after[2:])) <= 4000


@pytest.mark.req("OAP-162", "OAP-164")
def test_no_window_parts_a_call_from_its_result() -> None:
    """Wherever the room for the tail ends, the tail begins with a message that answers nothing."""
    turns = [each for n in range(20) for each in (calls(f"c{n}", size=2000), results(f"c{n}", size=4000))]
    messages = (user("go"), *turns)
    cuts = [cut_of(messages, window=window) for window in range(5000, 60_000, 500)]
    assert {messages[cut.at].role for cut in cuts if cut is not None} == {"assistant"}


@pytest.mark.parametrize(
    "messages", [(), (user("one"),), (user("one"), says("1")), (user("one"), says("1"), user("2"))]
)
def test_the_first_turn_alone_is_never_cut(messages: tuple[Message, ...]) -> None:
    """There is nothing before it."""
    assert cut_of(messages, requested=True) is None


def test_a_policy_keeps_as_many_turns_as_fit_into_a_fifth_of_the_window() -> None:
    """And no more than 20,000 tokens of a window however wide."""
    messages = tuple(each for n in range(40) for each in (user(f"q{n}"), says("a" * 4000)))
    narrow, wide = cut_of(messages, window=20_000), cut_of(messages, window=1_000_000)
    assert narrow is not None
    assert wide is not None
    assert [sum(map(message_tokens, messages[cut.at :])) // 1000 for cut in (narrow, wide)] == [3, 19]


# --- how -------------------------------------------------------------------------------------------------------------


@pytest.mark.req("OAP-162")
def test_the_summary_is_asked_of_the_sessions_model_with_what_the_user_wants_kept() -> None:
    """One record, no tools, no picture, no thoughts, and nothing only one vendor could read."""
    secret = ReasoningPart(reasoning="hidden thought", carry="opaque-token")
    said = Message(role="assistant", content=(secret, *calls("c1").content))  # type: ignore[misc]
    picture = Message(role="user", content=(TextPart(text="look here"), PICTURE))
    failed = Message(role="tool", content=(ToolResultPart(tool_call_id="c1", result={"error": "e"}, is_error=True),))
    messages = (picture, said, failed, user("thanks"), says("done"))
    request = summary_request(messages, Cut(3), model_ref="m", focus="the prices", max_output_tokens=99)
    assert (request.model_ref, request.tools, request.max_output_tokens) == ("m", UNSET, 99)
    system, record = request.messages
    assert (system.role, record.role) == ("system", "user")
    assert text_of(system.content).endswith("Above all the user wants this kept: the prices")
    assert text_of(record.content) == (
        "[user]\nlook here\n\n[user showed a picture: image/png]\n\n"
        '[assistant called look as c1]\n{"q":""}\n\n[c1 failed with]\n{"error":"e"}'
    )
    assert b"aGlkZGVu" not in strictjson.encode(request)


def test_an_earlier_summary_is_summarised_again_under_its_name() -> None:
    """What it stands for is not lost, and is not taken for the user's words."""
    before, _ = replaced((user("one"), says("1"), user("two")), Cut(2), SUMMARY)
    request = summary_request((*before, says("2")), Cut(2), model_ref="m")
    assert text_of(request.messages[1].content).startswith("[an earlier summary]\n[Summary of the conversation")


@given(st.lists(st.integers(0, 30_000), min_size=1, max_size=8), st.sampled_from(["text", "result"]))
def test_the_record_always_fits_into_the_window(sizes: list[int], kind: str) -> None:
    """Long results are shortened; where that is not enough, the middle goes and says how much of it went."""
    texts = [user("u" * size) for size in sizes]
    found = [each for n, size in enumerate(sizes) for each in (calls(f"c{n}"), results(f"c{n}", size=size))]
    messages = (*(texts if kind == "text" else found), says("end"))
    request = summary_request(messages, Cut(len(messages) - 1), model_ref="m", window=4000)
    record = text_of(request.messages[1].content)
    assert text_tokens(record) <= 3000
    whole = sum(sizes) + 100 * len(sizes)
    assert whole > 12_000 or kind == "result" or "left out" not in record


@pytest.mark.req("OAP-162")
@pytest.mark.parametrize(
    ("answer", "stop", "reason"),
    [
        (says("  \n"), "stop", "summary_empty"),
        (calls("c1"), "tool_use", "summary_empty"),
        (says("half a"), "length", "summary_cut_short"),
        (says("no"), "content_filter", "summary_cut_short"),
        (says("x" * 8004), "stop", "summary_too_long"),
    ],
)
def test_a_summary_that_cannot_stand_for_history_is_refused(answer: Message, stop: str, reason: str) -> None:
    """A typed failure; whoever asked keeps the history as it is."""
    with pytest.raises(Refused) as refused:
        summary_of(answer, stop, replaces=2000)  # type: ignore[arg-type]
    assert (refused.value.refusal.code, refused.value.refusal.reason) == ("endpoint_error", reason)


def test_a_short_summary_of_a_short_history_is_taken() -> None:
    """Eight words about two are no harm."""
    assert summary_of(says(" fine \n"), "stop", replaces=1) == says("fine")


@pytest.mark.req("OAP-162")
def test_a_summary_in_history_is_marked_and_does_not_speak_for_the_user() -> None:
    """What a tool's output made the model write must not come back as the user's wish."""
    after, _ = replaced((user("one"), says("1"), user("two")), Cut(2), SUMMARY)
    assert after[0].role == "user"
    assert is_summary(after[0])
    assert text_of(after[0].content).startswith("[Summary of the conversation up to here. The model wrote it, not the")
    assert text_of(after[0].content).endswith(text_of(SUMMARY.content))
    assert not any(map(is_summary, after[1:]))


@pytest.mark.parametrize("step", [Compacted(summary=SUMMARY, kept=3), Compacted(summary=SUMMARY, kept=2, asks=True)])
def test_a_step_that_keeps_what_there_is_not_is_refused(step: Compacted) -> None:
    """A file may say anything."""
    with pytest.raises(ValueError, match="keeps"):
        after_compaction((user("one"), says("1")), step)
