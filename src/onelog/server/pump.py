"""One connection: bytes in, calls to the handler, answers out in order, one write a turn.

The pump moves bytes between a socket and the two sides of a dialect and decides nothing of the
dialect. It is where back-pressure is: it stops reading when too many requests are in flight or
the peer does not take its answers. It is also the last line of defence: whatever a connection
or a handler raises beside ProtocolError is logged, answered as an unknown error where the
dialect can say so, and closes this connection only.

    SNIFFING --claimed--> OPEN --fault, end of stream, drain--> ENDING --> DISCARDING --> CLOSED

ENDING takes no more bytes and closes the streams; answers that are owed still leave. DISCARDING has said its last
words and reads what the peer is still sending: closing a socket with unread bytes resets it,
and the peer would lose the farewell with it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, cast

from onelog.protocols.contract import (
    Buffer,
    Call,
    Connection,
    Endpoint,
    Handler,
    InternalError,
    Later,
    ProtocolError,
    Push,
    Reply,
    Session,
    Stream,
)
from onelog.server.answers import Answers, Slot
from onelog.server.door import Door
from onelog.server.sniff import Sniffer, Unclaimed
from onelog.server.streams import Streams

SIZE_HINT = 1 << 16
# Many small buffers are cheaper to copy together than to hand to the kernel one by one.
JOINED_BYTES_MAX = 1 << 16
# What streams send in one turn, but for a message that is larger: others have turns too.
PUSHED_BYTES_MAX = 1 << 18


class Phase(IntEnum):
    """Where a connection is in its life."""

    SNIFFING = 0
    OPEN = 1
    ENDING = 2
    DISCARDING = 3
    CLOSED = 4


class Pump(asyncio.BufferedProtocol):
    """One connection. Owned by the house of its door, from its first moment to its last."""

    _transport: asyncio.Transport
    _connection: Connection
    _handler: Handler

    def __init__(self, door: Door) -> None:
        self._door = door
        self._limits = door.limits
        self._loop = asyncio.get_running_loop()
        self._phase = Phase.SNIFFING
        self._sniffer = Sniffer(door.endpoints)
        self._session: Session | None = None
        self._answers = Answers(in_order=True)
        self._streams = Streams(self._flush_soon)
        self._backlog: deque[Call] = deque()
        self._request_bytes = 0  # received, and not yet part of a request that waits
        self._out: list[Buffer] = []
        self._out_bytes = 0
        self._last_words: Sequence[Buffer] = ()
        self._faulty_slot: Slot | None = None
        self._holder: Slot | None = None
        self._flush_is_due = False
        self._is_working = False
        self._is_at_fault = False
        self._is_reading = True
        self._is_write_paused = False
        self._peer_has_ended = False
        self._has_stirred = True
        self._first_call_until_s: float | None = None  # only where a dialect has such a rule
        self._since_s: float | None = None  # when the sweep first saw this phase, or silence

    # ---- what the loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if not self._door.admit(self):
            self._phase = Phase.CLOSED
            transport.close()
            return
        self._transport.set_write_buffer_limits(high=self._limits.reply_bytes_max)
        if len(self._door.endpoints) == 1:
            self._guarded(self._open, self._door.endpoints[0], b"")

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._phase is Phase.OPEN:
            # asyncio has no hint and says -1.
            hint = sizehint if sizehint > 0 else SIZE_HINT
            return self._guarded(self._connection.lend, hint) or self._door.scratch
        if self._phase is Phase.SNIFFING:
            return self._sniffer.lend()
        return self._door.scratch

    def buffer_updated(self, nbytes: int) -> None:
        self._has_stirred = True
        if self._phase is Phase.OPEN:
            self._guarded(self._receive, nbytes)
        elif self._phase is Phase.SNIFFING:
            self._guarded(self._sniff, nbytes)

    def eof_received(self) -> bool:
        self._peer_has_ended = True
        if self._phase is Phase.OPEN:
            self._guarded(self._end)
        return self._phase in (Phase.OPEN, Phase.ENDING)

    def pause_writing(self) -> None:
        self._is_write_paused = True
        self._steer()

    def resume_writing(self) -> None:
        self._is_write_paused = False
        self._has_stirred = True
        self._guarded(self._work)
        if self._streams.is_ready:
            self._flush_soon()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._phase is Phase.CLOSED and self._session is None:
            return
        self._enter(Phase.CLOSED)
        self._backlog.clear()
        self._out.clear()
        self._answers.cancel()
        if self._session is not None:
            self._guarded(self._handler.closed)
        self._door.leave(self, self._session)

    # ---- what the server calls

    def drain(self) -> None:
        """Take nothing more, answer what was handled, close."""
        if self._phase is Phase.SNIFFING:
            self._close()
        elif self._phase is Phase.OPEN:
            self._backlog.clear()
            self._guarded(self._end)

    def abort(self) -> None:
        """Close now, whatever is owed."""
        self._transport.abort()

    def look(self, now_s: float) -> None:
        """Has this been silent, undecided or ending for too long? Called every second or so."""
        if self._first_call_until_s is not None and now_s >= self._first_call_until_s:
            self._transport.abort()
            return
        if self._since_s is None or (self._phase is Phase.OPEN and self._has_stirred):
            self._since_s = now_s
            self._has_stirred = False
            return
        passed_ms = (now_s - self._since_s) * 1000
        if self._phase is Phase.OPEN:
            # A peer that waits for us is not idle, unless it does not take what comes.
            waits = self._may_wait() and not self._is_write_paused
            if not waits and passed_ms >= self._limits.idle_timeout_ms:
                self._transport.abort()
        elif self._phase is Phase.SNIFFING:
            if passed_ms >= self._limits.handshake_timeout_ms:
                reason = f"its dialect was still open after {self._limits.handshake_timeout_ms} ms"
                self._door.blame_unknown(self._transport, reason)
                self._transport.abort()
        elif passed_ms >= self._limits.closing_timeout_ms:
            self._transport.abort()

    def _may_wait(self) -> bool:
        """Whether the peer may be silent because it is for us to speak."""
        assert self._session is not None
        return len(self._answers) > 0 or len(self._streams) > 0 or self._session.may_be_silent

    # ---- bytes in

    def _sniff(self, count: int) -> None:
        try:
            endpoint = self._sniffer.received(count)
        except Unclaimed as unclaimed:
            self._door.blame_unknown(self._transport, str(unclaimed))
            self._close()
            return
        if endpoint is not None:
            self._open(endpoint, self._sniffer.prefix)

    def _open(self, endpoint: Endpoint, prefix: bytes) -> None:
        self._session, self._connection, self._handler = self._door.enter(endpoint, self._transport)
        self._answers = Answers(in_order=self._connection.replies_in_order)
        self._enter(Phase.OPEN)
        if self._session.first_call_timeout_ms is not None:
            now_s = self._door.house.clock.monotonic_s()
            self._first_call_until_s = now_s + self._session.first_call_timeout_ms / 1000
        self._send(self._connection.opening())
        rest = memoryview(prefix)
        while len(rest) > 0 and self._phase is Phase.OPEN:
            lent = self._connection.lend(len(rest))
            count = min(len(lent), len(rest))
            lent[:count] = rest[:count]
            rest = rest[count:]
            self._receive(count)

    def _receive(self, count: int) -> None:
        self._request_bytes += count
        try:
            calls: Sequence[Call] = self._connection.received(count)
        except ProtocolError as error:
            self._backlog.extend(error.calls)
            self._work()
            if not self._is_at_fault:
                self._is_at_fault = True
                self._blame(error)
            return
        if calls:
            self._backlog.extend(calls)
            self._work()

    # ---- calls and answers

    def _work(self) -> None:
        """Handle calls until one holds the others, a bound is reached, or none is left."""
        if self._is_working:  # an answer that was there at once; the loop below goes on by itself
            return
        self._is_working = True
        backlog = self._backlog
        try:
            while backlog and self._holder is None and not self._is_full():
                self._handle(backlog.popleft())
        finally:
            self._is_working = False
        self._steer()

    def _handle(self, call: Call) -> None:
        assert self._session is not None
        self._door.house.count_request(self._session.dialect, call.message)
        self._first_call_until_s = None
        outcome = self._handler.handle(call.message)
        request_bytes, self._request_bytes = self._request_bytes, 0
        if isinstance(outcome, Later):
            slot = Slot(call.tag, outcome, request_bytes, self._finished)
            self._answers.open(slot)
            if outcome.hold:
                self._holder = slot
            slot.wait()
        elif isinstance(outcome, Reply):
            buffers = self._connection.send(call.tag, outcome.message)
            if self._answers.is_blocking:
                slot = Slot(call.tag, None, request_bytes, self._finished)
                self._answers.open(slot)
                self._answers.fill(slot, buffers)
            else:
                self._send(buffers)
        elif isinstance(outcome, Push):
            self._open_stream(call.tag, outcome.stream)

    def _open_stream(self, tag: Any, stream: Stream) -> None:
        if self._phase is not Phase.OPEN:
            stream.closed()
            return
        if len(self._streams) >= self._limits.streams_max:
            stream.closed()
            raise ProtocolError(f"one stream more than server.streams_max = {self._limits.streams_max}")
        self._streams.open(tag, stream)

    def _finished(self, slot: Slot) -> None:
        """The answer that a slot waited for is there, or will never be."""
        if self._phase is not Phase.CLOSED and slot.buffers is None:
            self._guarded(self._fill, slot)

    def _fill(self, slot: Slot) -> None:
        self._has_stirred = True
        self._faulty_slot = slot
        message = slot.message()
        buffers = self._connection.send(slot.tag, message) if message is not None else ()
        self._faulty_slot = None
        self._send(self._answers.fill(slot, buffers))
        if self._holder is slot:
            self._holder = None
        if self._backlog or not self._is_reading:
            self._work()
        self._finish_if_done()

    # ---- bytes out

    def _send(self, buffers: Sequence[Buffer]) -> None:
        """Have these leave with all others of this turn."""
        if not buffers:
            return
        self._out.extend(buffers)
        self._out_bytes += sum(map(len, buffers))
        self._flush_soon()

    def _flush_soon(self) -> None:
        if not self._flush_is_due:
            self._flush_is_due = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        if self._streams.is_ready:
            self._guarded(self._push)
        self._flush_is_due = False
        self._write_out()
        if self._streams.is_ready and not self._is_write_paused:
            self._flush_soon()
        if self._backlog or not self._is_reading:
            self._guarded(self._work)
        self._finish_if_done()

    def _push(self) -> None:
        """What streams have, behind the replies of this turn, while the peer takes it."""
        until = self._out_bytes + PUSHED_BYTES_MAX
        while not self._is_write_paused and self._out_bytes < until:
            pushed = self._streams.next()
            if pushed is None:
                return
            self._has_stirred = True
            self._send(self._connection.send(*pushed))

    def _write_out(self) -> None:
        out, self._out = self._out, []
        size, self._out_bytes = self._out_bytes, 0
        if not out or self._phase is Phase.CLOSED:
            return
        if len(out) == 1:
            self._transport.write(out[0])
        elif size <= JOINED_BYTES_MAX:
            self._transport.write(b"".join(out))
        else:
            self._transport.writelines(out)

    def _is_full(self) -> bool:
        answers, limits = self._answers, self._limits
        return (
            self._is_write_paused
            or len(answers) >= limits.requests_in_flight_max
            or answers.request_bytes >= limits.request_bytes_max
            or answers.waiting_bytes + self._out_bytes >= limits.reply_bytes_max
        )

    def _steer(self) -> None:
        """Read on, or stop reading, whichever is right now."""
        if self._phase in (Phase.OPEN, Phase.ENDING):
            reads = self._phase is Phase.OPEN and not self._backlog and not self._is_full()
            self._read(reads)

    def _read(self, reads: bool) -> None:
        if reads is not self._is_reading and not self._transport.is_closing():
            self._is_reading = reads
            if reads:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    # ---- the end

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self._since_s = None
        if phase is not Phase.OPEN:
            self._guarded(self._streams.close)

    def _end(self, last_words: Sequence[Buffer] = ()) -> None:
        """Read no more; say the last words after the answers that are owed, and close."""
        if self._phase is Phase.OPEN:
            self._enter(Phase.ENDING)
            self._last_words = last_words
            self._steer()
        self._finish_if_done()

    def _finish_if_done(self) -> None:
        if self._phase is not Phase.ENDING or self._backlog or len(self._answers) > 0:
            return
        self._send(self._last_words)
        self._write_out()
        if not self._last_words or self._peer_has_ended:
            self._close()
            return
        self._enter(Phase.DISCARDING)
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._read(True)

    def _close(self) -> None:
        """Close once everything written has left; connection_lost() does the rest."""
        if self._phase is Phase.OPEN or self._phase is Phase.SNIFFING:
            self._enter(Phase.ENDING)
        self._transport.close()

    def _blame(self, error: ProtocolError) -> None:
        """Say goodbye, behind what the peer is owed: the connection cannot go on."""
        assert self._session is not None
        if not isinstance(error, InternalError):
            self._door.blame(self._session, error)
        if self._phase is not Phase.OPEN:  # ending already; there is nobody to say more to
            self._write_out()
            self._transport.close()
            return
        last_words = self._connection.farewell(error)
        slot, self._faulty_slot = self._faulty_slot, None
        if slot is not None:
            # The answer that failed is the last one; those asked for after it are never given.
            self._answers.cut(slot)
            self._send(self._answers.fill(slot, ()))
        self._end(last_words)

    def _guarded(self, step: Callable[..., Any], *args: Any) -> Any:
        """Run a step that a dialect's code takes part in; nothing it raises gets past this."""
        try:
            return step(*args)
        except ProtocolError as error:
            fault = error
        except Exception as error:  # the last line of defence: a dialect's bug closes one connection
            self._door.confess(self._session, error)
            fault = InternalError("an unexpected error of the server; its log has more")
        self._backlog.clear()
        if self._session is None or self._is_at_fault:
            self._transport.abort()
        else:
            self._is_at_fault = True
            self._guarded(self._blame, fault)
        return None
