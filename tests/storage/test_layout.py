"""Names of files and directories, both ways."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onelog.storage import layout
from onelog.storage.layout import LogDir, Role

MARK = UUID(int=0xABC)


@given(st.integers(0, (1 << 63) - 1), st.sampled_from([".log", ".index", ".timeindex", ".snapshot"]))
def test_a_segments_files_are_named_by_its_first_offset(base: int, suffix: str) -> None:
    assert layout.segment_of(layout.segment_file(base, suffix)) == (base, suffix)


@given(st.from_regex(r"[a-zA-Z0-9._-]{1,249}", fullmatch=True), st.integers(0, 99_999))
def test_a_live_directory_names_topic_and_partition(topic: str, partition: int) -> None:
    assert layout.log_dir(layout.live_dir(topic, partition)) == LogDir(topic, partition)


def test_a_topic_may_look_like_a_directory_of_another() -> None:
    assert layout.log_dir("orders-3-4") == LogDir("orders-3", 4)


@pytest.mark.parametrize("name", ["orders", "orders-", "-3", "orders-x", "orders-03", "lost+found", ""])
def test_other_names_are_no_log(name: str) -> None:
    assert layout.log_dir(name) is None


@pytest.mark.parametrize("role", [Role.DELETE, Role.STRAY])
def test_a_directory_out_of_use_says_why(role: Role) -> None:
    name = layout.moved_dir("orders", 3, mark=MARK, role=role)
    assert name == f"orders-3.{MARK.hex}-{role.value}"
    assert layout.log_dir(name) == LogDir("orders", 3, role)


def test_the_longest_topic_is_cut_to_what_a_file_system_takes() -> None:
    assert len(layout.moved_dir("t" * 249, 12, mark=MARK, role=Role.DELETE)) == 255


@given(st.uuids())
def test_the_metadata_gives_the_topics_id_back(topic_id: UUID) -> None:
    assert layout.metadata_topic_id(layout.metadata_text(topic_id)) == topic_id


def test_the_metadata_is_kafkas() -> None:
    assert layout.metadata_text(UUID(int=1)) == b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"


@pytest.mark.parametrize(
    "text", [b"", b"version: 0\n", b"\0" * 43, b"version: 1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"]
)
def test_a_torn_metadata_names_nobody(text: bytes) -> None:
    assert layout.metadata_topic_id(text) is None


@pytest.mark.parametrize(
    ("path", "parent"), [("/a/b/c", "/a/b"), ("/a/", "/"), ("/a", "/"), ("a", "."), ("a/b", "a")]
)
def test_above(path: str, parent: str) -> None:
    assert layout.above(path) == parent
