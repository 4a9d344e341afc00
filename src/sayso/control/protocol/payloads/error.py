"""The one shape of an error, and the answer that carries it (common.schema.json, envelope.schema.json)."""

from __future__ import annotations

from sayso.control.protocol.payloads.scalars import UNSET, JsonObject, Maybe, Text, Wire

__all__ = ("ErrorResponse", "ProtocolError")


class ProtocolError(Wire, frozen=True, kw_only=True):
    """`code` is registered in `protocol.codes`, `message` is for people."""

    code: Text
    message: Text
    retriable: Maybe[bool] = UNSET
    details: Maybe[JsonObject] = UNSET


class ErrorResponse(Wire, frozen=True, kw_only=True):
    """`error.response`: the answer to any request that was refused."""

    error: ProtocolError
