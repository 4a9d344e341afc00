"""The policies as they are judged: who may do what, and by which article it is refused."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import msgspec
import pytest

from sayso.core.refusal import Misuse
from sayso.governance.acts import Act, ActClass, Repeats
from sayso.governance.constitution import Ceilings, Constitution, Verdict

FOLDER = files("sayso.governance.constitution")
TEXT = FOLDER.joinpath("articles.toml").read_bytes()
POLICIES, SCHEMA = (FOLDER.joinpath(name).read_text() for name in ("policies.cedar", "schema.cedarschema"))
ALL = frozenset(("mcp", "disclose", "propose"))


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


def act(kind: ActClass = ActClass.EXECUTION, **more: Any) -> Act:
    values = {"touches_others": False, "repeats": Repeats.IDEMPOTENT, **more}
    return Act(name="thing", act_class=kind, title="The thing", description="", arguments=Nothing, **values)


LOOK = act(ActClass.DISCLOSURE, repeats=None)
CONSTITUTION = Constitution.load()


def asked(**more: Any) -> Mapping[str, Any]:
    return {"door": "mcp", "scopes": ALL, "names_secret": False, **more}


def running(**more: Any) -> Mapping[str, Any]:
    return asked(**{"decided": True, "standing": "active", "evidence": 3, **more})


def no(article: str, policy: str | None = None) -> Verdict:
    return Verdict(allowed=False, article=article, policy=policy)


@pytest.mark.req("GTW-030", "GTW-031")
@pytest.mark.parametrize(
    ("of", "values", "verdict"),
    [
        (LOOK, asked(), Verdict(allowed=True, article="I")),
        (LOOK, asked(scopes=frozenset(("mcp", "propose"))), no("I")),
        (LOOK, asked(scopes=frozenset()), no("III", "door")),
        (LOOK, asked(door="a2a"), no("III", "door")),
        (LOOK, asked(names_secret=True), no("VIII", "secrets")),
        (act(), asked(), no("I")),
        (act(ActClass.DISCLOSURE, repeats=None, budget_cents=100_001), asked(), no("VII", "budget")),
    ],
)
def test_disclosures(of: Act, values: Mapping[str, Any], verdict: Verdict) -> None:
    """Article I: what only looks, through a door the key names, without credentials among the arguments."""
    assert CONSTITUTION.judge_disclosure("a", of, **values) == verdict


@pytest.mark.req("GTW-030", "GTW-031")
@pytest.mark.parametrize(
    ("of", "values", "verdict"),
    [
        (act(), asked(), Verdict(allowed=True, article="II")),
        (act(), asked(scopes=frozenset(("mcp", "disclose"))), no("II")),
        (LOOK, asked(), no("II", "repeats")),
        (act(repeats=None), asked(), no("II", "repeats")),
        (act(), asked(door="acp"), no("III", "door")),
        (act(), asked(names_secret=True), no("VIII", "secrets")),
        (act(budget_cents=100_000, seconds=900), asked(), Verdict(allowed=True, article="II")),
        (act(budget_cents=100_001), asked(), no("VII", "budget")),
        (act(seconds=901), asked(), no("VII", "seconds")),
    ],
)
def test_proposals(of: Act, values: Mapping[str, Any], verdict: Verdict) -> None:
    """Article II and its limits: what is not even put before a person."""
    assert CONSTITUTION.judge_proposal("a", of, **values) == verdict


@pytest.mark.req("GTW-031", "GTW-032")
@pytest.mark.parametrize(
    ("of", "values", "verdict"),
    [
        (act(), running(), Verdict(allowed=True, article="II")),
        (act(), running(decided=False), no("II", "decided")),
        (act(), running(standing="suspended"), no("III", "standing")),
        (act(), running(standing="unknown"), no("III", "standing")),
        (act(touches_others=True), running(evidence=2), Verdict(allowed=True, article="II")),
        (act(touches_others=True), running(evidence=3), no("IV", "signed")),
        (act(touches_others=True), running(evidence=4), no("IV", "signed")),
        (act(seconds=901), running(), no("VII", "seconds")),
        (act(repeats=None), running(), no("II", "repeats")),
    ],
)
def test_executions(of: Act, values: Mapping[str, Any], verdict: Verdict) -> None:
    """Judged again when it begins: decided, by an agent that still stands, signed where others are touched."""
    assert CONSTITUTION.judge_execution("a", of, **values) == verdict


@pytest.mark.req("GTW-031", "GTW-032")
@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ({"is_agent": False, "role": "owner", "own": False}, Verdict(allowed=True, article="II")),
        ({"is_agent": False, "role": "approver", "own": False}, Verdict(allowed=True, article="II")),
        ({"is_agent": False, "role": "viewer", "own": False}, no("VI", "viewers_never_decide")),
        ({"is_agent": False, "role": "", "own": False}, no("VI", "viewers_never_decide")),
        ({"is_agent": True, "role": "owner", "own": False}, no("VI", "agents_never_decide")),
        ({"is_agent": False, "role": "owner", "own": True}, no("VI", "own_proposal")),
    ],
)
def test_deciders(values: Mapping[str, Any], verdict: Verdict) -> None:
    """Article VI: an owner or an approver, and never an agent, whatever role it says it has."""
    assert CONSTITUTION.judge_decider("who", act(), **values) == verdict


@pytest.mark.req("GTW-031")
def test_a_refusal_names_its_article_and_what_would_help() -> None:
    """In the words that the caller reads."""
    refusal = CONSTITUTION.judge_proposal("a", act(seconds=901), **asked()).refusal("Calling a neighbour")
    assert refusal.code == "refused_by_constitution"
    assert refusal.message == "Article VII of the constitution refuses calling a neighbour"
    assert (refusal.reason, refusal.details, refusal.help) == (
        "seconds", {"article": "VII"}, "The house's operator sets the ceilings."
    )  # fmt: skip


def with_policy(text: str, schema: str = SCHEMA) -> Constitution:
    """The constitution with one more policy in Article X."""
    articles = TEXT.decode().replace('number = "X"', 'number = "X"\n#')
    last = articles.rindex("kept_by = []")
    articles = f'{articles[:last]}kept_by = ["more"]{articles[last + len("kept_by = []") :]}'
    return Constitution(articles.encode(), f'{POLICIES}\n@id("more") @article("X")\n{text}', schema)


@pytest.mark.req("GTW-031")
def test_a_prohibition_that_cannot_be_evaluated_refuses() -> None:
    """Cedar skips a policy that fails and answers Allow; here its failure is the answer."""
    stumbling = with_policy("forbid (principal, action, resource) when { resource.seconds * 9223372036854775807 > 5 };")
    assert stumbling.judge_disclosure("a", LOOK, **asked()) == no("X")
    refusal = stumbling.judge_disclosure("a", LOOK, **asked()).refusal("Echo")
    assert (refusal.reason, refusal.details) == ("doubt", {"article": "X"})


@pytest.mark.req("GTW-031")
def test_a_prohibition_that_reads_an_absent_attribute_stops_the_start() -> None:
    """The schema requires every attribute, so a policy that may miss one does not pass."""
    with pytest.raises(Misuse, match="do not fit its schema"):
        with_policy("forbid (principal, action, resource) when { context.absent };")
    optional = SCHEMA.replace("door: String,", "door: String,\n        absent?: Bool,")
    with pytest.raises(Misuse, match="do not fit its schema"):
        with_policy('forbid (principal, action == Action::"disclose", resource) when { context.absent };', optional)


@pytest.mark.req("GTW-031")
def test_an_attribute_that_is_missing_when_it_counts_refuses() -> None:
    """Whatever the start allowed: a question without a member is no permission."""
    assert CONSTITUTION._judge("Agent", "a", "disclose", LOOK, {"scopes": ("mcp", "disclose")}) == no("X")


@pytest.mark.req("GTW-031")
@pytest.mark.parametrize(
    "policies",
    [
        POLICIES.replace('@article("IV")', '@article("V")'),
        POLICIES.replace('@id("signed") @article("IV")', ""),
        POLICIES.replace('@id("signed")', '@id("sealed")'),
    ],
)
def test_a_policy_and_the_text_name_one_another(policies: str) -> None:
    """A rule without an article, or an article whose rule is gone, stops the start."""
    with pytest.raises(Misuse, match="do not name one another"):
        Constitution(TEXT, policies, SCHEMA)


@pytest.mark.req("GTW-031")
def test_no_policy_at_all_allows_nothing() -> None:
    """An empty yes is a no."""
    articles = TEXT.decode()
    for article in CONSTITUTION.articles:
        kept = ", ".join(f'"{name}"' for name in article.kept_by)
        articles = articles.replace(
            f"kept_by = [{kept}]", 'kept_by = []\nby_construction = "x"' if kept else "kept_by = []"
        )
    empty = Constitution(articles.encode(), "", SCHEMA)
    assert empty.judge_disclosure("a", LOOK, **asked()) == no("I")
    assert empty.judge_proposal("a", act(), **asked()) == no("II")
    assert empty.judge_execution("a", act(), **running()) == no("II")
    assert empty.judge_decider("a", act(), is_agent=False, role="owner", own=False) == no("II")


def test_ceilings_are_the_houses_own() -> None:
    """A house may be stricter than the default."""
    strict = Constitution.load(Ceilings(cents=0, seconds=10))
    assert strict.judge_proposal("a", act(seconds=10), **asked()).allowed
    assert strict.judge_proposal("a", act(seconds=11), **asked()) == no("VII", "seconds")
    assert strict.judge_proposal("a", act(seconds=10, budget_cents=1), **asked()) == no("VII", "budget")


def test_two_acts_of_one_name_are_judged_each_as_it_is() -> None:
    """What is remembered of an act is that act, not its name."""
    constitution = Constitution.load()
    assert constitution.judge_proposal("a", act(), **asked()).allowed
    assert not constitution.judge_proposal("a", act(seconds=901), **asked()).allowed
    assert constitution.judge_proposal("a", act(), **asked()).allowed


def test_odd_names_are_names_and_not_policy_text() -> None:
    """An id is handed over as data."""
    odd = 'x"::Person::"y\n'
    assert CONSTITUTION.judge_disclosure(odd, LOOK, **asked()).allowed
    assert not CONSTITUTION.judge_decider(odd, act(), is_agent=True, role="owner", own=False).allowed


@pytest.mark.req("GTW-030", "GTW-031")
def test_an_answer_is_kept_for_its_whole_question_alone() -> None:
    """Whatever differs in what is asked is judged by itself; another act of the same name is another act."""
    constitution = Constitution.load()
    dear = act(ActClass.DISCLOSURE, repeats=None, budget_cents=100_001)
    for _ in range(2):
        assert constitution.judge_disclosure("a", LOOK, **asked()).allowed
        assert constitution.judge_disclosure("a", LOOK, **asked(door="a2a")) == no("III", "door")
        assert constitution.judge_disclosure("a", LOOK, **asked(names_secret=True)) == no("VIII", "secrets")
        assert constitution.judge_proposal("a", act(), **asked()).allowed
        assert not constitution.judge_execution("a", act(), **running(decided=False)).allowed
        assert constitution.judge_execution("a", act(), **running()).allowed
        assert constitution.judge_disclosure("a", dear, **asked()) == no("VII", "budget")
