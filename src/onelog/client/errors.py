"""What can go wrong for a client: one family, each with what was tried and where.

`retriable` says whether the same request may be sent again at once; who sends it again, and
for how long, is retry.py's. An error that ends a row of attempts carries their number and
the time they took. Dialects add their own broker's answers (kafka/errors, rustlog/errors).
"""

from typing import Self


class ClientError(Exception):
    """A request that got no good answer.

    is_stranger: somebody is there, and has said nothing yet that is an answer of the protocol.
    is_unknown_place: there is no such topic or partition, and the broker's words do not say what to do.
    """

    is_stranger = False
    is_unknown_place = False

    def __init__(self, reason: str, *, retriable: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retriable = retriable
        self.attempts = 1
        self.waited_s = 0.0

    def given_up(self, *, attempts: int, waited_s: float) -> "ClientError":
        """The error that says so at the end of a row of attempts."""
        return self._tried(attempts, waited_s)

    def _tried(self, attempts: int, waited_s: float) -> Self:
        self.attempts = attempts
        self.waited_s = waited_s
        return self

    def __str__(self) -> str:
        if self.attempts < 2:
            return self.reason
        return f"{self.reason} Gave up after {self.attempts} attempts in {self.waited_s:.1f} s."


class ConnectionLost(ClientError):
    """The connection could not be made, or broke before the answer was there.

    sent: bytes of the request had left, so that the broker may have done what it asks.
    """

    def __init__(
        self, *, address: str, doing: str, found: str, sent: bool, is_stranger: bool = False
    ) -> None:
        super().__init__(f"{address}: {found} while {doing}.", retriable=True)
        self.address = address
        self.doing = doing
        self.found = found
        self.sent = sent
        self.is_stranger = is_stranger

    def given_up(self, *, attempts: int, waited_s: float) -> ClientError:
        return BrokerUnavailable(
            address=self.address,
            doing=self.doing,
            found=self.found,
            attempts=attempts,
            waited_s=waited_s,
            is_stranger=self.is_stranger,
        )


class BrokerUnavailable(ClientError):
    """No broker answered at the address before the deadline."""

    def __init__(
        self,
        *,
        address: str,
        doing: str,
        found: str,
        attempts: int,
        waited_s: float,
        is_stranger: bool = False,
    ) -> None:
        met = "what listens" if is_stranger else "no broker answers"
        gave = " gave no right answer" if is_stranger else ""
        super().__init__(f"{met} at {address}{gave}: {found} while {doing}.")
        self.address = address
        self.doing = doing
        self.found = found
        self.attempts = attempts
        self.waited_s = waited_s
        self.is_stranger = is_stranger

    def __str__(self) -> str:
        tried = "1 attempt" if self.attempts == 1 else f"{self.attempts} attempts"
        asked = "" if self.is_stranger else "Is it running there? "
        return (
            f"{self.reason} Gave up after {tried} in {self.waited_s:.1f} s. "
            f"{asked}Name another with --bootstrap HOST:PORT."
        )


class OutcomeUnknown(ClientError):
    """A request that must not be sent twice left, and no answer came: it may have been done."""

    def __init__(self, lost: ConnectionLost) -> None:
        super().__init__(
            f"{lost.reason} The broker may have done it; it is not sent again. Look before you repeat it."
        )
        self.address = lost.address
        self.is_stranger = lost.is_stranger


class BadAnswer(ClientError):
    """The broker's bytes are not an answer of its protocol."""

    is_stranger = True


class UnsupportedByBroker(ClientError):
    """The broker has no version of a request that this client speaks."""

    is_stranger = True
