"""What can be set of the broker as a whole. What can be set of a topic: topics/settings.py."""

from dataclasses import dataclass

from onelog.settings import setting


@dataclass(frozen=True)
class BrokerSettings:
    """The bounds and defaults of one broker; each is a line of the configuration page."""

    partition_count_default: int = setting(
        1, help="Partitions of a topic that is created without a number of them."
    )
    partition_count_max: int = setting(10_000, help="The most partitions that a topic may have.")
    auto_create_topics: bool = setting(
        True, help="Whether a topic comes to be when a client asks for it by name."
    )
    message_bytes_max: int = setting(
        1_048_588, help="The largest batch of a Kafka producer, for topics that do not say.", unit="bytes"
    )
    note_bytes_max: int = setting(4096, help="The longest note kept with a position.", unit="bytes")
    durability_default: str = setting(
        "sync", help="Durability of new topics that do not say: sync or os. Four dialects cannot say it."
    )
    position_retention_ms: int = setting(
        604_800_000,
        help="How long a position is kept once its group has no members, or nobody commits it any more.",
        unit="ms",
    )
    position_check_interval_ms: int = setting(
        600_000, help="How often positions and empty groups are looked for that may go.", unit="ms"
    )
    group_session_timeout_min_ms: int = setting(
        6000, help="The shortest silence after which a member may ask to be taken for gone.", unit="ms"
    )
    group_session_timeout_max_ms: int = setting(1_800_000, help="The longest one.", unit="ms")
    group_initial_rebalance_delay_ms: int = setting(
        3000,
        help="How long the first member of an empty group waits for others.",
        unit="ms",
        at_least=0,
    )
    group_members_max: int = setting(10_000, help="The most members that a group may have.")
    group_member_bytes_max: int = setting(
        1_048_576, help="The most that a member may say of itself, or be assigned.", unit="bytes"
    )
    commit_log_file_bytes: int = setting(
        16 << 20, help="The size of a file of the commit log.", unit="bytes", at_least=1 << 20
    )
    commit_log_bytes_max: int = setting(
        256 << 20, help="All files of the commit log; then turns wait.", unit="bytes", at_least=4 << 20
    )
    tail_bytes_max: int = setting(
        64 << 20, help="Records in memory that are not in segments yet; then turns wait.", unit="bytes"
    )
    settler_threads: int = setting(8, help="Files that a round writes and syncs at the same time.")
    retention_check_interval_ms: int = setting(
        300_000, help="How often retention looks for segments that may go.", unit="ms"
    )
    fetch_wait_max_ms: int = setting(
        300_000, help="The longest that a fetch waits for records, whatever it asks for.", unit="ms"
    )
