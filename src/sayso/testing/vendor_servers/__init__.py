"""Loopback stand-ins for model vendors: one ASGI application a wire, written from the vendors' public formats.

Each answers with scripted turns, judges every request as its vendor would (credential, history, members), and keeps
what it received. Faults are made of frames (`faults`), of answers (`Status`) or of the connection (`broken`). The
vendors' own SDKs talk to the same servers in the tests, which is what keeps them honest.
"""

from __future__ import annotations

from sayso.testing.vendor_servers.chat import CHAT
from sayso.testing.vendor_servers.generate import GENERATE
from sayso.testing.vendor_servers.messages import MESSAGES
from sayso.testing.vendor_servers.responses import RESPONSES
from sayso.testing.vendor_servers.scripts import SCRIPTS, Ongoing, Script
from sayso.testing.vendor_servers.server import Answer, Received, Status, Stream, Vendor, VendorServer
from sayso.testing.vendor_servers.serving import SHORT_NAMES, Served, serve_model
from sayso.testing.vendor_servers.turns import Said, frame

__all__ = (
    "CHAT",
    "GENERATE",
    "MESSAGES",
    "RESPONSES",
    "SCRIPTS",
    "SHORT_NAMES",
    "VENDORS",
    "Answer",
    "Ongoing",
    "Received",
    "Said",
    "Script",
    "Served",
    "Status",
    "Stream",
    "Vendor",
    "VendorServer",
    "frame",
    "serve_model",
)

VENDORS = {vendor.wire: vendor for vendor in (CHAT, RESPONSES, MESSAGES, GENERATE)}
