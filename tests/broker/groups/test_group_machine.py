"""Any order of joins, leaves, silences, commits and starts of the broker keeps what a group promises.

one owner at most of a partition in a generation
generations never go back
no acknowledged commit is lost, or turned back
a group whose members are well becomes stable, and all partitions are read
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from onelog.broker.groups.words import Phase
from tests.support.group_clients import PARTITIONS, Book, Client
from tests.support.group_room import Room

CLIENTS_MAX = 6
CALM_STEP_MS = 2_000
# A new member that nobody hears of any more is waited for the longest: five minutes.
CALM_STEPS_MAX = 400
WHICH = st.integers(0, CLIENTS_MAX - 1)


class GroupMachine(RuleBasedStateMachine):
    """A group, its clients, and a world that may do anything to them."""

    def __init__(self) -> None:
        super().__init__()
        self.room = Room()
        self.book = Book()
        self.clients: list[Client] = []
        self.gone: list[Client] = []
        self.started = 0

    # ---- what may happen

    @precondition(lambda self: len(self.clients) < CLIENTS_MAX)
    @rule(instance=st.sampled_from([None, None, "one", "two"]), is_modern=st.booleans())
    def a_client_comes(self, instance: str | None, is_modern: bool) -> None:
        if instance is not None and any(client.instance == instance for client in self.clients):
            return
        self.started += 1
        name = f"client-{self.started}"
        self.clients.append(Client(self.room, self.book, name, instance=instance, is_modern=is_modern))

    @precondition(lambda self: self.clients)
    @rule(which=WHICH, steps=st.integers(1, 4))
    def a_client_goes_on(self, which: int, steps: int) -> None:
        client = self.clients[which % len(self.clients)]
        for _ in range(steps):
            client.act()
        self.sort_out()

    @precondition(lambda self: self.clients)
    @rule()
    def all_clients_go_on(self) -> None:
        for client in list(self.clients):
            client.act()
        self.sort_out()

    @precondition(lambda self: self.clients)
    @rule(which=WHICH)
    def a_client_commits(self, which: int) -> None:
        self.clients[which % len(self.clients)].commit()
        self.sort_out()

    @precondition(lambda self: self.gone)
    @rule(which=WHICH)
    def a_client_that_was_held_up_commits(self, which: int) -> None:
        self.gone[which % len(self.gone)].commit()

    @precondition(lambda self: self.clients)
    @rule(which=WHICH)
    def a_client_leaves(self, which: int) -> None:
        self.clients[which % len(self.clients)].leave()
        self.sort_out()

    @precondition(lambda self: self.clients)
    @rule(which=WHICH)
    def a_client_is_not_heard_of_any_more(self, which: int) -> None:
        self.clients[which % len(self.clients)].is_alive = False
        self.sort_out()

    @rule(ms=st.sampled_from([1, 500, 3_000, 9_000, 11_000, 65_000]))
    def time_passes(self, ms: int) -> None:
        self.room.advance(ms)

    @rule()
    def the_broker_starts_anew(self) -> None:
        self.room.restart()
        for client in self.clients:
            client.lose_connection()

    @rule()
    def it_is_calm_for_a_while(self) -> None:
        self.calm_down()

    # ---- what holds

    @invariant()
    def generations_never_go_back(self) -> None:
        if self.room.phase is not None:
            self.book.saw(self.room.group.generation)
        else:
            assert self.book.generation == 0

    @invariant()
    def acknowledged_commits_are_there(self) -> None:
        for partition, offset in self.book.positions.items():
            assert self.room.position(partition) == offset

    @invariant()
    def what_is_kept_of_members_fits_together(self) -> None:
        if self.room.phase is None:
            return
        group = self.room.group
        assert (group.phase is Phase.EMPTY) == (not group.members) or group.gathering is not None
        assert group.sessions.keys() <= group.members.keys()
        assert group.unsynced <= group.members.keys()
        assert set(group.instances.values()) == {
            m.id for m in group.members.values() if m.instance is not None
        }
        if group.phase in (Phase.COMPLETING, Phase.STABLE):
            assert group.leader in group.members
            assert all(member.join_ask is None for member in group.members.values())
        if group.phase is not Phase.COMPLETING:
            assert all(member.sync_ask is None for member in group.members.values())

    def teardown(self) -> None:
        self.calm_down()
        self.acknowledged_commits_are_there()

    # ---- helpers

    def sort_out(self) -> None:
        self.gone += [client for client in self.clients if not client.is_alive]
        self.clients = [client for client in self.clients if client.is_alive]

    def calm_down(self) -> None:
        """Everybody who is there does what he should; that it ends well is the point."""
        for _ in range(CALM_STEPS_MAX):
            for client in list(self.clients):
                client.act()
            self.sort_out()
            if self.has_come_to_rest():
                break
            self.room.advance(CALM_STEP_MS)
        assert self.has_come_to_rest(), self.room.group
        read = sorted(partition for client in self.clients for partition in client.reads)
        assert read == (list(PARTITIONS) if self.clients else [])

    def has_come_to_rest(self) -> bool:
        if not self.clients:
            return self.room.phase in (None, Phase.EMPTY)
        return (
            self.room.phase is Phase.STABLE
            and {client.member for client in self.clients} == set(self.room.names)
            and all(client.is_settled for client in self.clients)
        )


TestGroups = GroupMachine.TestCase
TestGroups.settings = settings(max_examples=60, stateful_step_count=40)
