"""Documents of the walkthrough, made by hand: what the checks of `terms` are tried with."""

from __future__ import annotations

from typing import Any

from sayso.core import strictjson
from sayso.core.instants import epoch, parse_instant
from sayso.proof.hashes import sha256_b64u
from sayso.proof.jws import sign_jws
from sayso.proof.keys import PrivateKey
from sayso.scheduling.terms.discovery import Discovery
from sayso.scheduling.terms.discovery_checks import verify_discovery
from sayso.scheduling.terms.identity import principal_urn

NOW = parse_instant("2026-10-13T13:00:00Z")
DOMAIN = "maplestreetauto.example"
HOST = f"maple-street-auto@{DOMAIN}"
HOST_KEY = PrivateKey.from_seed(b"h" * 32)
SAM = PrivateKey.from_seed(b"s" * 32)
AGENT = PrivateKey.from_seed(b"a" * 32)
PRINCIPAL = principal_urn(SAM.public)
JKT = AGENT.public.thumbprint
HASH = sha256_b64u(b"an offer")


def money(amount: str, currency: str = "CAD") -> dict[str, str]:
    return {"amount": amount, "currency": currency}


def discovery(**changed: Any) -> dict[str, Any]:
    return {
        "versions": ["0.4"],
        "host": HOST,
        "title": "Maple Street Auto",
        "kind": "business",
        "endpoint": f"https://{DOMAIN}/schcp/v0",
        "timezone": "America/Toronto",
        "keys": [{"kid": "k1", "use": "sign", "jwk": HOST_KEY.public.jwk()}],
        "contact": {"phone": "+1 416 555 0134"},
        "services": [
            {
                "id": "oil-change",
                "title": "Synthetic oil change",
                "duration": "PT45M",
                "buffer": "PT15M",
                "needs": ["bay", "technician"],
                "price": money("79.00"),
            },
            {"id": "diagnosis", "title": "Brake diagnosis", "duration": "open", "needs": ["bay"]},
        ],
        "policies": {
            "holds": {"ttl_max": "PT10M", "ttl_min": "PT1M", "max_active_per_agent": 3, "max_active_unproven": 6},
            "confirmation": {"mode": "instant"},
            "access": "anyone",
            "closed_mandate": "never",
            "retention": "P365D",
            "horizon": "P60D",
            "slot_step": "PT15M",
            "notes": {"accepted": False},
            "replay_window": "P1D",
        },
        "taxes": [{"title": "HST 13%", "basis_points": 1300}],
        **changed,
    }


def document(**changed: Any) -> Discovery:
    return verify_discovery(strictjson.encode(discovery(**changed)), DOMAIN)


def offer(**changed: Any) -> dict[str, Any]:
    claims = {
        "iss": HOST,
        "aud": PRINCIPAL,
        "iat": epoch(NOW),
        "exp": epoch(NOW) + 300,
        "jti": "o_1",
        "agent": JKT,
        "title": "Maple Street Auto",
        "service": {"id": "oil-change", "title": "Synthetic oil change"},
        "start": "2026-10-15T13:00:00-04:00",
        "timezone": "America/Toronto",
        "place": {"at": "host"},
        "retention": "P365D",
        "hold_id": "h_1",
        "end": "2026-10-15T13:45:00-04:00",
        "total": money("89.27"),
        "lines": [
            {"kind": "service", "title": "Synthetic oil change", "amount": money("79.00")},
            {"kind": "tax", "title": "HST 13%", "amount": money("10.27")},
        ],
        **changed,
    }
    return {name: value for name, value in claims.items() if value is not None}


def signed_offer(key: PrivateKey = HOST_KEY, kid: str = "k1", typ: str = "schcp-offer+jwt", **changed: Any) -> str:
    return sign_jws(offer(**changed), key, typ=typ, kid=kid)


def mandate(constraints: dict[str, Any] | None = None, **changed: Any) -> dict[str, Any]:
    limits = {
        "services": ["oil-change"],
        "window": {"not_before": "2026-10-15T11:00:00-04:00", "not_after": "2026-10-15T15:45:00-04:00"},
        "max_price": money("100.00"),
        "max_bookings": 1,
        **(constraints or {}),
    }
    claims = {
        "iss": PRINCIPAL,
        "aud": HOST,
        "iat": epoch(NOW),
        "exp": epoch(NOW) + 3600,
        "jti": "m_1",
        "cnf": {"jkt": JKT},
        "principal_jwk": SAM.public.jwk(),
        "scope": ["hold", "book", "cancel", "reschedule"],
        "constraints": {name: value for name, value in limits.items() if value is not None},
        "consent": {"mode": "human_present", "statement": "I allow my assistant to book."},
        **changed,
    }
    return {name: value for name, value in claims.items() if value is not None}


NO_LIMITS: dict[str, Any] = {"services": None, "window": None, "max_price": None, "max_bookings": None}


def signed_mandate(
    constraints: dict[str, Any] | None = None, key: PrivateKey = SAM, typ: str = "schcp-mandate+jwt", **changed: Any
) -> str:
    return sign_jws(mandate(constraints, **changed), key, typ=typ)


def closed(offer_sha256: str = HASH, **changed: Any) -> str:
    return signed_mandate({**NO_LIMITS, "offer_sha256": offer_sha256}, scope=["book"], **changed)


def managing(booking_id: str = "b_1", **changed: Any) -> str:
    limits = {"services": None, "max_bookings": None, "bookings": [booking_id]}
    return signed_mandate(limits, scope=["cancel", "reschedule"], **changed)
