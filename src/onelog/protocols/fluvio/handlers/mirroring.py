"""Mirroring: a cluster elsewhere that wants to mirror this one is told that it cannot."""

from onelog.protocols.contract import Outcome, Reply
from onelog.protocols.fluvio.connection import Request
from onelog.protocols.fluvio.errors import FluvioRefusal, other
from onelog.protocols.fluvio.handlers.context import Context
from onelog.protocols.fluvio.messages.mirroring import MirroringRequest, MirroringResponse


def mirroring(context: Context, request: Request) -> Outcome:
    """Refused in the one frame that is an answer to it."""
    body: MirroringRequest = request.body
    text = "mirroring is not served"
    fault = context.refuse(FluvioRefusal(other(text), text))
    return Reply(MirroringResponse(name=body.remote_id, error=fault, text=text))
