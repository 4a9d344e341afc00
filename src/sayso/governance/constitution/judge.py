"""The constitution as a judge: text and policies loaded together, and one verdict for each question (GTW-031).

The policies are Cedar's: permission has to be given, one prohibition is enough to refuse. On top of that engine stand
two rules of ours. Whatever it could not evaluate to the end refuses, because Cedar itself skips a policy that fails:
a prohibition that stumbles would otherwise be none. And every refusal names an article: the prohibition's, or the one
that would have had to permit.

Everything a policy may read is in every question (`Question` types it, the schema requires it), so the schema is held
against the policies once, at the start, and questions are not held against it again: a member that is missing is an
error, and an error is a no.

A policy reads nothing but the question, so the same question has the same answer; the last few thousand answers are
kept by the whole question, and nothing that could not be evaluated is among them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from typing import Final, Literal, TypeAlias

import cedarpy
import msgspec
import structlog

from sayso.core import b64u, strictjson
from sayso.core.refusal import Misuse, Refusal
from sayso.governance.acts import Act
from sayso.governance.constitution.articles import Article, read_articles

__all__ = ("REFUSED_BY_CONSTITUTION", "Ceilings", "Constitution", "Verdict")

REFUSED_BY_CONSTITUTION = "refused_by_constitution"

Action = Literal["disclose", "propose", "execute", "decide"]
_Asked: TypeAlias = tuple[str, str, Action, str, bytes]
_KEPT: Final = 4096

_log = structlog.get_logger(__name__)
_PERMITS: Final[Mapping[Action, str]] = {"disclose": "I", "propose": "II", "execute": "II", "decide": "II"}
"""The article that would have had to permit."""
_DOUBT: Final = "X"
_HELP: Final[Mapping[str, str]] = {
    "I": "Ask the agent's owner for a key that allows disclosure.",
    "II": "Ask the agent's owner for a key that allows proposals.",
    "III": "Use a door that the key allows, or ask the agent's owner.",
    "IV": "The person signs on their own surface; a yes without a signed document does not count.",
    "VI": "An owner or an approver decides it, signed in under their own name.",
    "VII": "The house's operator sets the ceilings.",
    "VIII": "Leave out members that are named like a password, key or token.",
}


class Ceilings(msgspec.Struct, frozen=True, kw_only=True):
    """The house's ceilings of Article VII: cents and seconds of one act."""

    cents: int = 100_000
    seconds: int = 900


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether it may be, and under which article; `policy` names the rule that refused, where one did."""

    allowed: bool
    article: str
    policy: str | None = None

    def refusal(self, title: str) -> Refusal:
        """A no in words, for the act of this title."""
        reason = self.policy or ("doubt" if self.article == _DOUBT else "not_permitted")
        return Refusal(
            code=REFUSED_BY_CONSTITUTION,
            message=f"Article {self.article} of the constitution refuses {title[:1].lower()}{title[1:]}",
            reason=reason,
            help=_HELP.get(self.article),
            details={"article": self.article},
        )


class Constitution:
    """One version of it, in force in one house."""

    def __init__(self, text: bytes, policies: str, schema: str, ceilings: Ceilings = Ceilings()) -> None:  # noqa: B008 - frozen
        """Misuse: the text, the policies and the schema do not fit one another; a house does not start like that."""
        read = read_articles(text)
        self.version: str = read.version
        self.sha256: str = b64u.encode(sha256(b"\0".join((text, policies.encode(), schema.encode()))).digest())
        self.tag: str = f"{self.version} {self.sha256}"
        """What a decision is bound to: the same version with other words is another constitution."""
        self.title, self.preamble = read.title, read.preamble
        self.articles: tuple[Article, ...] = read.articles
        self.policies = policies
        self._ceilings = ceilings
        checked = cedarpy.validate_policies(policies, schema)
        if not checked.validation_passed:
            raise Misuse(f"the constitution's policies do not fit its schema: {checked.errors[0]}")
        self._policies = cedarpy.PolicySet.from_str(policies)
        self._article_of = _articles_of(policies, self.articles)
        self._entities: dict[str, tuple[Act, cedarpy.Entities]] = {}
        self._answered: OrderedDict[_Asked, tuple[Act, Verdict]] = OrderedDict()

    @classmethod
    def load(cls, ceilings: Ceilings = Ceilings()) -> Constitution:  # noqa: B008 - frozen
        """The constitution that ships with this version."""
        folder = files(__package__)
        policies, schema = (
            folder.joinpath(name).read_text("utf-8") for name in ("policies.cedar", "schema.cedarschema")
        )
        return cls(folder.joinpath("articles.toml").read_bytes(), policies, schema, ceilings)

    def judge_disclosure(
        self, agent: str, act: Act, *, door: str, scopes: frozenset[str], names_secret: bool
    ) -> Verdict:
        """Whether the agent may look now (Article I)."""
        context = {"door": door, "scopes": tuple(scopes), "names_secret": names_secret}
        return self._judge("Agent", agent, "disclose", act, context)

    def judge_proposal(self, agent: str, act: Act, *, door: str, scopes: frozenset[str], names_secret: bool) -> Verdict:
        """Whether a person may be asked at all (Article II)."""
        context = {"door": door, "scopes": tuple(scopes), "names_secret": names_secret}
        return self._judge("Agent", agent, "propose", act, context)

    def judge_execution(
        self,
        agent: str,
        act: Act,
        *,
        door: str,
        scopes: frozenset[str],
        names_secret: bool,
        decided: bool,
        standing: str,
        evidence: int,
    ) -> Verdict:
        """Whether what was approved may run now."""
        context = {
            "door": door, "scopes": tuple(scopes), "names_secret": names_secret,
            "decided": decided, "standing": standing, "evidence": evidence,
        }  # fmt: skip
        return self._judge("Agent", agent, "execute", act, context)

    def judge_decider(self, who: str, act: Act, *, is_agent: bool, role: str, own: bool) -> Verdict:
        """Whether they may decide it (Article VI)."""
        return self._judge("Agent" if is_agent else "Person", who, "decide", act, {"role": role, "own": own})

    def _judge(self, kind: str, who: str, action: Action, act: Act, context: Mapping[str, object]) -> Verdict:
        question = (kind, who, action, act.name, strictjson.encode(context))
        known = self._answered.get(question)
        if known is not None and known[0] is act:
            return known[1]
        verdict = self._evaluate(question, act)
        if verdict.article != _DOUBT:
            self._answered[question] = (act, verdict)
            if len(self._answered) > _KEPT:
                self._answered.popitem(last=False)
        return verdict

    def _evaluate(self, question: _Asked, act: Act) -> Verdict:
        kind, who, action, name, context = question
        asked = {
            "principal": {"type": kind, "id": who},
            "action": {"type": "Action", "id": action},
            "resource": {"type": "Act", "id": name},
            "context": context.decode(),
        }
        answer = cedarpy.is_authorized(asked, self._policies, self._entity(act))
        found = answer.diagnostics
        # Invariant PG-03: a policy that could not be evaluated refuses, whatever the others say.
        if found.errors or answer.decision is cedarpy.Decision.NoDecision:
            _log.error("the constitution could not be evaluated", act=name, action=action, errors=found.errors[:3])
            return Verdict(allowed=False, article=_DOUBT)
        if not answer.allowed:
            return self._refused(action, found)
        return Verdict(allowed=True, article=_PERMITS[action])

    def _refused(self, action: Action, found: cedarpy.Diagnostics) -> Verdict:
        names = sorted(found.id_annotations_by_reason.values(), key=self._rank)
        if not names:
            return Verdict(allowed=False, article=_PERMITS[action])
        return Verdict(allowed=False, article=self._article_of[names[0]], policy=names[0])

    def _rank(self, policy: str) -> int:
        """Where several refuse, the first of the text is named, so that a refusal has one wording."""
        return list(self._article_of).index(policy)

    def _entity(self, act: Act) -> cedarpy.Entities:
        """The act as Cedar sees it, made once: an act never changes, and another of the same name is not the same."""
        known = self._entities.get(act.name)
        if known is None or known[0] is not act:
            facts = {
                "uid": {"type": "Act", "id": act.name},
                "parents": (),
                "attrs": {
                    "class": act.act_class.value,
                    "repeats": "unsaid" if act.repeats is None else act.repeats.value,
                    "touches_others": act.touches_others,
                    "budget_cents": act.budget_cents,
                    "seconds": act.seconds,
                    "ceiling_cents": self._ceilings.cents,
                    "ceiling_seconds": self._ceilings.seconds,
                },
            }
            entities = cedarpy.Entities.from_json_str(strictjson.encode([facts]).decode())
            known = self._entities[act.name] = (act, entities)
        return known[1]


def _articles_of(policies: str, articles: tuple[Article, ...]) -> dict[str, str]:
    """Policy to article, in the order of the text. Misuse: a policy without one, or unknown to the text."""
    document = strictjson.parse(cedarpy.policies_to_json_str(policies).encode())
    found = msgspec.convert(document, _Policies).static
    told = {each.annotations.get("id", ""): each.annotations.get("article", "") for each in found.values()}
    kept = {name: article.number for article in articles for name in article.kept_by}
    if len(told) != len(found) or told != kept:
        raise Misuse("the constitution's policies and its articles do not name one another")
    return kept


class _Policy(msgspec.Struct):
    annotations: dict[str, str] = {}


class _Policies(msgspec.Struct):
    static: dict[str, _Policy] = msgspec.field(name="staticPolicies")
