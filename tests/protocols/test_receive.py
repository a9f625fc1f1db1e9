from hypothesis import given, settings
from hypothesis import strategies as st

from onelog.protocols.receive import FIRST_BYTES, KEPT_BYTES_MAX, ReceiveBuffer


def fill(buffer: ReceiveBuffer, data: bytes, *, frame_bytes: int = 0) -> int:
    """As a socket would; the number of lends it took."""
    lends = 0
    while data:
        room = buffer.lend(frame_bytes)
        part = data[: len(room)]
        room[: len(part)] = part
        buffer.filled(len(part))
        data = data[len(part) :]
        lends += 1
    return lends


def test_what_came_is_taken_in_order() -> None:
    buffer = ReceiveBuffer()
    fill(buffer, b"abcdef")
    assert bytes(buffer.take(2)) == b"ab"
    assert bytes(buffer.peek()) == b"cdef"
    assert buffer.waiting == 4


def test_a_view_that_is_held_is_never_written_over() -> None:
    buffer = ReceiveBuffer()
    held = []
    for number in range(64):
        fill(buffer, bytes([number]) * 5000)
        held.append(buffer.take(5000))
    assert all(bytes(view) == bytes([number]) * 5000 for number, view in enumerate(held))


def test_the_same_room_is_lent_again_when_nobody_holds_a_view() -> None:
    buffer = ReceiveBuffer()
    stores = set()
    for _ in range(32):
        fill(buffer, b"x" * 20000)
        view = buffer.take(20000)
        stores.add(id(view.obj))
        del view
    assert len(stores) == 1


def test_two_stores_take_turns_when_each_is_held_for_a_moment() -> None:
    buffer = ReceiveBuffer()
    stores = set()
    held = memoryview(b"")
    for _ in range(32):
        fill(buffer, b"x" * 20000)
        held = buffer.take(20000)
        stores.add(id(held.obj))
    assert len(stores) == 2


def test_a_claimed_length_without_bytes_costs_nothing() -> None:
    buffer = ReceiveBuffer()
    fill(buffer, b"12345678")
    assert len(buffer.lend(100 * 1024 * 1024)) <= FIRST_BYTES


def test_room_grows_with_the_bytes_that_came() -> None:
    buffer = ReceiveBuffer()
    frame_bytes = 1_000_000
    lends = fill(buffer, b"y" * frame_bytes, frame_bytes=frame_bytes)
    assert buffer.waiting == frame_bytes
    assert lends <= 7


def test_a_large_store_is_kept_for_the_next_large_frame() -> None:
    buffer = ReceiveBuffer()
    frame_bytes = 1_000_000
    fill(buffer, b"y" * frame_bytes, frame_bytes=frame_bytes)
    buffer.take(frame_bytes).release()
    assert fill(buffer, b"z" * frame_bytes) == 1


def test_a_store_above_the_bound_is_given_back_with_its_last_byte() -> None:
    buffer = ReceiveBuffer()
    frame_bytes = KEPT_BYTES_MAX + 1
    fill(buffer, b"y" * frame_bytes, frame_bytes=frame_bytes)
    buffer.take(frame_bytes).release()
    assert len(buffer.lend()) == FIRST_BYTES


@settings(max_examples=60, deadline=None)
@given(
    frames=st.lists(st.tuples(st.integers(1, 90_000), st.booleans()), max_size=20),
    step=st.integers(1, 70_000),
)
def test_any_frames_in_any_steps_come_out_as_they_went_in(frames: list[tuple[int, bool]], step: int) -> None:
    buffer = ReceiveBuffer()
    held: list[tuple[memoryview, bytes]] = []
    for number, (size, keep) in enumerate(frames):
        sent = (bytes([number % 251, size % 251]) * size)[:size]
        for at in range(0, size, step):
            fill(buffer, sent[at : at + step], frame_bytes=size)
        view = buffer.take(size)
        assert view == sent
        if keep:
            held.append((view, sent))
    assert all(view == sent for view, sent in held)
