"""InitProducerId: an id under which a producer numbers its batches."""

from onelog.errors import OnelogError
from onelog.model import NO_PRODUCER, ProducerId
from onelog.protocols.contract import Later, Outcome, Reply
from onelog.protocols.kafka.connection import Request
from onelog.protocols.kafka.errors import Code, KafkaRefusal
from onelog.protocols.kafka.handlers.context import TRANSACTIONS_REFUSED, Context
from onelog.protocols.kafka.messages.transactions import InitProducerIdRequest, InitProducerIdResponse
from onelog.ticket import Ticket


def init_producer_id(context: Context, request: Request) -> Outcome:
    """Without a transactional id always a new producer, whatever it was called before."""
    body: InitProducerIdRequest = request.body
    if body.transactional_id is not None:
        # The only code that every client takes for final; others are tried again for minutes.
        code = Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if body.transactional_id else Code.INVALID_REQUEST
        return Reply(_refused(context.refuse(KafkaRefusal(code, TRANSACTIONS_REFUSED))))

    def answer(ticket: Ticket[tuple[ProducerId, int]]) -> InitProducerIdResponse:
        try:
            producer_id, epoch = ticket.result()
        except OnelogError as error:
            return _refused(context.refuse(error))
        return InitProducerIdResponse(error_code=0, producer_id=producer_id, producer_epoch=epoch)

    return Later(context.broker.init_producer(), answer=answer)


def _refused(code: Code) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_id=NO_PRODUCER, producer_epoch=-1)
