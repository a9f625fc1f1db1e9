"""Making, changing and removing topics.

A topic is decided at once, its row is made durable, then its logs are opened, and only then
it is served and the answer leaves. A deletion goes the other way: the row is durable before
the topic stops being served, and that before a file goes. Work on one name is done in the
order in which it was decided, so a new topic waits until its predecessor's files are gone,
and "it exists" waits until it does.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from uuid import UUID, uuid4

from onelog.broker.catalog import Catalog, Statement
from onelog.broker.settings import BrokerSettings
from onelog.broker.topics import rows, state
from onelog.broker.topics.files import TopicFiles
from onelog.broker.topics.rows import PartitionRow
from onelog.broker.topics.served import Served, ServedTopic
from onelog.broker.topics.settings import DURABILITY, Durability, policy_of
from onelog.broker.topics.state import (
    Alter,
    Change,
    Command,
    Create,
    Delete,
    Deleted,
    Forgotten,
    Grow,
    TopicsState,
)
from onelog.broker.values import AlterTopic, NewTopic, Topic
from onelog.errors import OnelogError, TopicExists, UnknownTopic
from onelog.model import TopicId
from onelog.ticket import Ticket

Outcome = Topic | OnelogError
Act = Callable[[Topic], Awaitable[Topic]]


class TopicsService:
    """Owns which topics there are. Lives in the loop's thread."""

    def __init__(
        self,
        loaded: TopicsState,
        *,
        catalog: Catalog,
        files: TopicFiles,
        served: Served,
        settings: BrokerSettings,
        forget_positions: Callable[[TopicId], list[Statement]],
    ) -> None:
        self._state = loaded
        self._catalog = catalog
        self._files = files
        self._served = served
        self._settings = settings
        self._forget_positions = forget_positions
        self._latest: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, partitions: Mapping[tuple[TopicId, int], PartitionRow]) -> None:
        """Serve what the rows say."""
        for topic in list(self._state.by_name.values()):
            self._served.publish(ServedTopic(topic, self._files.load(topic, partitions)))

    def forget_removed(self) -> None:
        """No file of a removed topic is left: their ids need not be known any more."""
        gone = [Forgotten(topic_id) for topic_id in self._state.removed]
        for change in gone:
            state.apply(self._state, change)
        if gone:
            self._queue(gone)

    def create(self, wanted: Sequence[NewTopic], *, validate_only: bool) -> Ticket[list[Outcome]]:
        """Make topics, each with its own outcome."""
        default = self._settings.partition_count_default
        commands = [
            Create(
                uuid4(),
                new.name,
                default if new.partition_count is None else new.partition_count,
                self._with_defaults(new.settings),
                new.notes,
            )
            for new in wanted
        ]
        return self._order(commands, [new.name for new in wanted], self._open, validate_only=validate_only)

    def ensure(self, name: str) -> Ticket[Topic]:
        """The topic of that name, made if it is not there and may be made unasked."""
        try:
            return Ticket.resolved(self._served.topic(name))
        except UnknownTopic as error:
            if not self._settings.auto_create_topics:
                return Ticket.refused(error)
        return self.create([NewTopic(name)], validate_only=False).then(self._made_by_somebody)

    def delete(self, topics: Sequence[str | UUID]) -> Ticket[list[Outcome]]:
        """Remove topics; answered when they are gone for good, before their files are."""
        names = [t if isinstance(t, str) else self._name_of(t) for t in topics]
        return self._order([Delete(t) for t in topics], names, self._withdraw, self._clean)

    def alter(self, wanted: Sequence[AlterTopic], *, validate_only: bool) -> Ticket[list[Outcome]]:
        """Change settings, each topic with its own outcome."""
        commands = [Alter(alter.name, alter.changes, alter.replaces) for alter in wanted]
        return self._order(commands, [a.name for a in wanted], self._adopt, validate_only=validate_only)

    def grow(self, name: str, partition_count: int, *, validate_only: bool) -> Ticket[Topic]:
        """Add partitions up to the count."""
        ticket = self._order([Grow(name, partition_count)], [name], self._extend, validate_only=validate_only)
        return ticket.then(_only)

    def is_alive(self, id: TopicId) -> bool:
        """Whether the topic exists by all that is decided, durable or not."""
        return id in self._state.by_id

    async def close(self) -> None:
        """Wait for what is under way."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _order(
        self,
        commands: Sequence[Command],
        names: Iterable[str],
        act: Act,
        clean: Act | None = None,
        *,
        validate_only: bool = False,
    ) -> Ticket[list[Outcome]]:
        """Decide, queue and apply in one breath; carry out and answer when it is durable."""
        changes: list[Change] = []
        outcomes = [self._decide(command, changes, validate_only=validate_only) for command in commands]
        durable = self._queue(changes) if changes else self._catalog.barrier()
        names = set(names)
        before = {self._latest[name] for name in names if name in self._latest}
        if durable.done and not before and not changes:
            return durable.then(lambda _: outcomes)
        ticket: Ticket[list[Outcome]] = Ticket()
        acting = act if changes else _nothing
        task = asyncio.get_running_loop().create_task(
            self._carry_out(ticket, outcomes, durable, before, acting, clean)
        )
        self._tasks.add(task)
        self._latest.update(dict.fromkeys(names, task))
        task.add_done_callback(lambda task: self._carried_out(task, names, ticket))
        return ticket

    def _decide(self, command: Command, changes: list[Change], *, validate_only: bool) -> Outcome:
        try:
            change, topic = state.decide(
                self._state, command, partition_count_max=self._settings.partition_count_max
            )
        except OnelogError as error:
            return error
        if not validate_only:
            state.apply(self._state, change)
            changes.append(change)
        return topic

    def _queue(self, changes: Iterable[Change]) -> Ticket[None]:
        statements: list[Statement] = []
        for change in changes:
            statements.extend(rows.statements(change))
            if isinstance(change, Deleted):
                statements.extend(self._forget_positions(change.topic.id))
        return self._catalog.write(statements)

    async def _carry_out(
        self,
        ticket: Ticket[list[Outcome]],
        outcomes: Sequence[Outcome],
        durable: Ticket[None],
        before: set[asyncio.Task[None]],
        act: Act,
        clean: Act | None,
    ) -> None:
        await durable
        if before:
            await asyncio.wait(before)
        if self._catalog.failed is not None:
            raise self._catalog.failed  # what came before may be what failed: nothing is said after that
        ticket.resolve([await _outcome(outcome, act) for outcome in outcomes])
        if clean is not None:
            for outcome in outcomes:
                await _outcome(outcome, clean)

    def _carried_out(
        self, task: asyncio.Task[None], names: Iterable[str], ticket: Ticket[list[Outcome]]
    ) -> None:
        self._tasks.discard(task)
        for name in names:
            if self._latest.get(name) is task:
                del self._latest[name]
        error = None if task.cancelled() else task.exception()
        if error is not None and not ticket.done:
            ticket.fail(error)
        elif error is not None:
            raise error

    async def _open(self, topic: Topic) -> Topic:
        try:
            partitions = await self._files.make(topic, first=0)
        except OnelogError:
            # The row stands, the files could not be made: back out, or the name would be taken for nothing.
            if self.is_alive(topic.id):
                self.delete([topic.id])
            raise
        self._served.publish(ServedTopic(topic, partitions))
        return topic

    async def _withdraw(self, topic: Topic) -> Topic:
        gone = UnknownTopic(topic=topic.name)
        refusals: list[OnelogError] = []
        for closing in [partition.close(gone) for partition in self._served.withdraw(topic)]:
            try:
                await closing
            except OnelogError as error:
                refusals.append(error)  # the others may still be written: no file goes before they are not
        if refusals:
            raise refusals[0]
        return topic

    async def _clean(self, topic: Topic) -> Topic:
        await self._files.remove(topic)
        # Not waited for: until a round has passed its last record, a start may still meet one.
        self._files.forgotten(topic).then(lambda _: self._forget(topic.id))
        return topic

    def _forget(self, id: TopicId) -> None:
        forgotten = Forgotten(id)
        state.apply(self._state, forgotten)
        self._queue([forgotten])

    async def _adopt(self, topic: Topic) -> Topic:
        served = self._served.find(topic.name)
        policy = policy_of(topic.settings)
        for partition in served.partitions:
            partition.set_policy(policy)
        self._served.publish(ServedTopic(topic, served.partitions))
        return topic

    async def _extend(self, topic: Topic) -> Topic:
        served = self._served.find(topic.name)
        first = len(served.partitions)
        try:
            made = await self._files.make(topic, first=first)
        except OnelogError as error:
            # The row stands, so they are there, closed, as after a start that cannot open them.
            made = self._files.closed(topic, first=first, error=error)
            self._served.publish(ServedTopic(topic, [*served.partitions, *made]))
            raise
        self._served.publish(ServedTopic(topic, [*served.partitions, *made]))
        return topic

    def _made_by_somebody(self, outcomes: list[Outcome]) -> Topic:
        if isinstance(outcomes[0], TopicExists):
            return self._served.topic(outcomes[0].topic)
        return _only(outcomes)

    def _with_defaults(self, settings: Mapping[str, str | None]) -> Mapping[str, str | None]:
        """What is chosen for good is written down, so that another default later does not change it."""
        default = self._settings.durability_default
        return settings if default == Durability.SYNC.value else {DURABILITY: default, **settings}

    def _name_of(self, id: TopicId) -> str:
        topic = self._state.by_id.get(id)
        return "" if topic is None else topic.name


async def _outcome(outcome: Outcome, act: Act) -> Outcome:
    if isinstance(outcome, OnelogError):
        return outcome
    try:
        return await act(outcome)
    except OnelogError as error:
        return error


async def _nothing(topic: Topic) -> Topic:
    return topic


def _only(outcomes: list[Outcome]) -> Topic:
    if isinstance(outcomes[0], OnelogError):
        raise outcomes[0]
    return outcomes[0]
