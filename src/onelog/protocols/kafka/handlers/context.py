"""What every handler of a connection may use, and the few steps that they share."""

from dataclasses import dataclass
from uuid import UUID

from onelog.broker.broker import Broker, Topic
from onelog.errors import OnelogError
from onelog.metrics import REFUSALS
from onelog.model import NO_TOPIC_ID
from onelog.protocols.contract import Address, Session
from onelog.protocols.kafka.errors import Code, KafkaRefusal, code_of
from onelog.ticket import all_done as all_done

# What may be asked of a topic or of the cluster when nobody is forbidden anything: one bit for
# each operation, by its number in Kafka's rules.
TOPIC_OPERATIONS = sum(1 << operation for operation in (3, 4, 5, 6, 7, 8, 10, 11))
CLUSTER_OPERATIONS = sum(1 << operation for operation in (5, 7, 8, 9, 10, 11, 12))
NOT_ASKED = -(1 << 31)

TRANSACTIONS_REFUSED = "transactions are not supported yet; leave transactional.id unset"

Refused = OnelogError | KafkaRefusal


@dataclass(slots=True)
class Context:
    """One connection, seen from its handlers."""

    broker: Broker
    session: Session

    @property
    def address(self) -> Address:
        """Where this client finds us: through the listener that it came through."""
        return self.session.advertised[self.session.listener]

    def topic(self, name: str | None, topic_id: UUID) -> Topic:
        """A topic by its name, or, where the version of the request has ids, by its id."""
        if not name or topic_id != NO_TOPIC_ID:
            return self.broker.topic_by_id(topic_id)
        return self.broker.topic(name)

    def refuse(self, error: BaseException) -> Code:
        """The code of a refusal, counted."""
        code = code_of(error)
        self.broker.metrics.series(REFUSALS, self.session.dialect, code.name).add()
        return code
