"""Keeping and withdrawing the rules of a person's calendar: acts of its desk, over HTTP and on the spot (spec 25.7).

SCH-263, SCH-267. Keeping one needs no other signature than the owner's on it; withdrawing needs none at all, because it
only leaves more to the person.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sayso.core import strictjson
from sayso.core.instants import write_instant
from sayso.proof.hashes import sha256
from sayso.scheduling.host import signed_rules
from sayso.scheduling.host.admission import Operation, Plan, perform
from sayso.scheduling.host.call import Call, NoBody
from sayso.scheduling.host.desk import Desk
from sayso.scheduling.host.personal import keep_rule_evidence
from sayso.scheduling.host.signed_rules import StoredRule
from sayso.scheduling.rules.personal import keep_record, withdraw_record
from sayso.scheduling.terms.codes import refused
from sayso.scheduling.terms.rule import KeepRuleRequest, KeptRule, KeptRules, WithdrawRuleRequest
from sayso.scheduling.terms.rule_checks import check_rule_in_force, verify_rule
from sayso.store.unit import Unit

__all__ = ("KEEP_RULE", "LIST_RULES", "RULE_ROUTES", "WITHDRAW_RULE", "at_rules")


def _by_staff(unit: Unit, desk: Desk, call: Call[Any]) -> str:
    if call.agent not in desk.staff:
        raise refused("not_staff")
    return desk.host


def _keep(unit: Unit, desk: Desk, call: Call[KeepRuleRequest], _host: str) -> Plan:
    rule = verify_rule(call.request.rule)
    if rule.claims.iss != desk.profile.owner or rule.claims.host != desk.host:
        raise refused("rule_invalid")
    found = signed_rules.find(unit, desk.host, rule.claims.jti)
    if found is not None and found.withdrawn_at is not None:
        raise refused("rule_not_in_force", "It was withdrawn: another has to be signed.")
    if found is not None:
        if found.rule.token != rule.token:
            raise refused("rule_invalid", "Another rule has this id.", place="$.jti")
        return Plan(status=200, reply=_view(found))
    check_rule_in_force(rule, unit.now)

    def write() -> None:
        signed_rules.add(unit, desk.host, rule)
        keep_rule_evidence(unit, desk, rule)

    kept = StoredRule(rule=rule, kept_at=unit.now)
    return Plan(status=201, reply=_view(kept), records=(keep_record(rule),), write=write)


def _withdraw(unit: Unit, desk: Desk, call: Call[WithdrawRuleRequest], _host: str) -> Plan:
    rule_id = call.named["rule_id"]
    found = signed_rules.find(unit, desk.host, rule_id)
    if found is None:
        raise refused("no_such_rule")
    if found.withdrawn_at is not None:
        return Plan(status=200, reply=_view(found))
    after = StoredRule(rule=found.rule, kept_at=found.kept_at, withdrawn_at=unit.now)
    return Plan(
        status=200,
        reply=_view(after),
        records=(withdraw_record(found.rule, desk.host),),
        write=lambda: signed_rules.withdraw(unit, desk.host, rule_id),
    )


def _list(unit: Unit, desk: Desk, call: Call[NoBody], _host: str) -> Plan:
    return Plan(status=200, reply=KeptRules(rules=tuple(_view(each) for each in signed_rules.newest(unit, desk.host))))


def _view(found: StoredRule) -> KeptRule:
    return KeptRule(
        rule_id=found.rule.claims.jti,
        rule=found.rule.token,
        kept_at=write_instant(found.kept_at),
        withdrawn_at=None if found.withdrawn_at is None else write_instant(found.withdrawn_at),
    )


LIST_RULES: Final = Operation(NoBody, _by_staff, _list)
KEEP_RULE: Final = Operation(KeepRuleRequest, _by_staff, _keep, lambda host: host)
WITHDRAW_RULE: Final = Operation(WithdrawRuleRequest, _by_staff, _withdraw, lambda host: host)

RULE_ROUTES: Final[Mapping[str, Mapping[str, Operation[Any, Any]]]] = {
    "/host/rules": {"GET": LIST_RULES, "POST": KEEP_RULE},
    "/host/rules/{rule_id}/withdraw": {"POST": WITHDRAW_RULE},
}


def at_rules(
    unit: Unit, desk: Desk, request: KeepRuleRequest | WithdrawRuleRequest, rule_id: str | None = None
) -> msgspec.Struct:
    """Either act on the spot, by whoever holds the host's key. Refused as over HTTP."""
    call: Call[Any] = Call(
        agent=desk.pen.kid,
        nonce="",
        nonce_until=unit.now,
        operation="rules",
        body_sha256=sha256(strictjson.encode(request)),
        mandate_sha256=sha256(b""),
        named={} if rule_id is None else {"rule_id": rule_id},
        request=request,
        presented=refused("mandate_missing"),
    )
    operation: Operation[Any, str] = KEEP_RULE if isinstance(request, KeepRuleRequest) else WITHDRAW_RULE
    return perform(unit, desk, operation, call)
