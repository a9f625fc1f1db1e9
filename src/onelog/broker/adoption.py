"""A directory that Kafka wrote becomes ours: topics, settings, starts, leader epochs and positions get rows.

All of it in one transaction, before storage takes the logs, so that a start that is cut off
does it again or finds it done. What has no place here is printed. Kafka's own topics stay as
they are, unserved.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from onelog.broker.catalog import Catalog, Statement
from onelog.broker.positions import rows as position_rows
from onelog.broker.positions.state import Committed, Kept
from onelog.broker.producers import rows as producer_rows
from onelog.broker.producers.state import Reserved
from onelog.broker.topics import rows as topic_rows
from onelog.broker.topics.rows import epoch_raised, start_raised
from onelog.broker.topics.settings import BY_NAME, CLEANUP, changed
from onelog.broker.topics.state import Created
from onelog.broker.values import Position, Topic
from onelog.errors import OnelogError
from onelog.model import TopicName
from onelog.storage import foreign
from onelog.storage.foreign import ForeignLog, ForeignPosition, ForeignSetting
from onelog.storage.home import Home
from onelog.storage.store import Store

LOG = logging.getLogger("onelog")


@dataclass
class Adopted:
    """What becomes of Kafka's words. left: what has no place here, a line each."""

    topics: list[Topic] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def adopt(store: Store, catalog: Catalog) -> None:
    """Once, where nothing of ours is there yet and logs of Kafka's are."""
    if not store.is_unclaimed or catalog.rows("SELECT id FROM topics"):
        return
    logs = foreign.logs(store.disk, store.path)
    if not logs:
        return
    found = decided(logs, foreign.settings(store.disk, store.path), foreign.positions(store.disk, store.path))
    end = foreign.producer_ids_end(store.disk, store.path)
    found.statements += producer_rows.statements(Reserved(end))
    for topic in found.topics:
        if "compact" in topic.settings.get(CLEANUP, ""):
            for partition in range(topic.partition_count):
                home = Home(store.disk, store.path, topic=topic.name, partition=partition, topic_id=topic.id)
                if store.disk.exists(home.path):
                    home.note_compacted()
    catalog.write_now(found.statements)
    LOG.info("the directory is Kafka's: %d topics with %d logs are taken over", len(found.topics), len(logs))
    for line in found.left:
        LOG.warning("%s", line)


def decided(
    logs: list[ForeignLog], settings: list[ForeignSetting], positions: list[ForeignPosition]
) -> Adopted:
    """The rows that they become."""
    found = Adopted()
    by_topic: dict[str, list[ForeignLog]] = {}
    for log in logs:
        by_topic.setdefault(log.topic, []).append(log)
    for name, members in sorted(by_topic.items()):
        _adopt_topic(found, name, members, settings)
    _adopt_positions(found, positions)
    return found


def _adopt_topic(
    found: Adopted, name: str, members: list[ForeignLog], settings: list[ForeignSetting]
) -> None:
    topic_id = members[0].topic_id
    for log in [log for log in members if log.topic_id != topic_id]:
        found.left.append(
            f"{name}-{log.partition}: of topic {log.topic_id}; expected {topic_id}. It is not served"
        )
        members = [other for other in members if other is not log]
    count = max(log.partition for log in members) + 1
    own = _settings(found, name, settings)
    topic = Topic(TopicName(name), topic_id, count, own)
    found.topics.append(topic)
    found.statements += topic_rows.statements(Created(topic))
    for log in members:
        found.statements.append(start_raised(topic_id, log.partition, log.start))
        found.statements.append(epoch_raised(topic_id, log.partition, log.leader_epoch))


def _settings(found: Adopted, topic: str, settings: list[ForeignSetting]) -> Mapping[str, str]:
    wanted = {each.name: each.value for each in settings if each.topic == topic}
    own: dict[str, str] = {}
    for name, value in wanted.items():
        if value is None:
            continue
        try:
            own = changed(own, {name: value})
        except OnelogError as error:
            default = f"; its default, {BY_NAME[name].default}, holds" if name in BY_NAME else ""
            found.left.append(f"{topic}: {error.message.rstrip('.')}{default}")
    return own


def _adopt_positions(found: Adopted, positions: list[ForeignPosition]) -> None:
    topics = {str(topic.name): topic for topic in found.topics}
    last: dict[tuple[str, UUID, int], ForeignPosition] = {}
    for each in positions:
        topic = topics.get(each.topic)
        if topic is not None:
            last[each.group, topic.id, each.partition] = each
    for (group, topic_id, partition), each in sorted(last.items(), key=lambda item: str(item[0])):
        if each.offset is not None:
            kept = Kept(Position(each.offset, each.leader_epoch, each.note), committed_ms=0)
            found.statements += position_rows.statements(Committed(group, topic_id, partition, kept))
