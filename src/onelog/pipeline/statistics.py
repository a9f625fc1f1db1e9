"""What a Parquet file's footer says about its columns, in the words of a Delta commit.

Readers skip files by these (an audit reads a window of offsets from the few files that can
have it), so a bound may be left out but never wrong. Pure.
"""

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

from pyarrow.parquet import FileMetaData

TEXT_CHARS_MAX = 64


def statistics(footer: FileMetaData) -> str:
    """Rows, and of each plain column the least and greatest value and how many are null."""
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for column in range(footer.num_columns):
        path = footer.schema.column(column).path
        if "." in path:
            continue
        found = [footer.row_group(group).column(column).statistics for group in range(footer.num_row_groups)]
        if any(s is None or not s.has_null_count for s in found):
            continue
        nulls[path] = sum(s.null_count for s in found)
        bounded = [s for s in found if s.num_values > 0]
        if not bounded or not all(s.has_min_max for s in bounded):
            continue
        low = _low(min(s.min for s in bounded))
        high = _high(max(s.max for s in bounded))
        if low is not None and high is not None:
            least[path], greatest[path] = low, high
    return json.dumps(
        {"numRecords": footer.num_rows, "minValues": least, "maxValues": greatest, "nullCount": nulls}
    )


def _low(value: Any) -> Any:
    if isinstance(value, datetime):
        return _moment(value)
    return _plain(value)


def _high(value: Any) -> Any:
    if isinstance(value, datetime):
        # Delta keeps milliseconds here; cut down, the bound would lie below the value.
        return _moment(value + timedelta(microseconds=999))
    return _plain(value)


def _moment(value: datetime) -> str:
    in_utc = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    return in_utc.strftime("%Y-%m-%dT%H:%M:%S.") + f"{in_utc.microsecond // 1000:03d}Z"


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and len(value) <= TEXT_CHARS_MAX:
        return value
    if isinstance(value, date):
        return value.isoformat()
    return None
