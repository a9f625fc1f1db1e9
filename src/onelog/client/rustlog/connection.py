"""One connection to a RustLog broker, in one form: a frame out, a frame back."""

from onelog.binary.errors import BinaryError
from onelog.client.errors import BadAnswer, ClientError
from onelog.client.retry import Deadline
from onelog.client.rustlog.answers import Answer
from onelog.client.rustlog.errors import RustLogError
from onelog.client.rustlog.forms import Form
from onelog.client.stream import Stream
from onelog.errors import InvalidRequest
from onelog.model import Address
from onelog.protocols.rustlog.framing import HEADER_BYTES, payload_size
from onelog.protocols.rustlog.json_form import MalformedJson
from onelog.protocols.rustlog.messages.json import Request


class Connection:
    """One owner at a time; its pool hands it on."""

    def __init__(self, address: Address, deadline: Deadline, form: Form = Form.JSON) -> None:
        self._form = form
        self._stream = Stream(address, deadline)

    def is_stale(self) -> bool:
        """Whether it must not be used again."""
        return self._stream.is_stale()

    def close(self) -> None:
        """No more of it."""
        self._stream.close()

    def ask(self, request: Request, *, doing: str, deadline: Deadline) -> Answer:
        """The broker's answer; a RustLogError if that is an Error."""
        try:
            frame = self._form.encode(request)
        except (InvalidRequest, BinaryError) as error:
            raise ClientError(f"{doing}: {error}. Send less at once, or use another protocol.") from error
        self._stream.send(frame, doing=doing, deadline=deadline)
        try:
            size = payload_size(self._stream.receive(HEADER_BYTES, doing=doing, deadline=deadline))
            answer = self._form.decode(self._stream.receive(size, doing=doing, deadline=deadline))
        except (BinaryError, MalformedJson, InvalidRequest) as error:
            raise BadAnswer(
                f"{self._stream.address}: bad answer while {doing}: {error}. Is it a RustLog broker?"
            ) from error
        except RustLogError:
            self._stream.answered()
            raise
        self._stream.answered()
        return answer
