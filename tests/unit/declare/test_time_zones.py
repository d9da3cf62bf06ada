"""A point in time becomes the calendar day of its own zone, whatever the other records and the batches look like."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from rankveil.declare import Plan, Records, declare
from rankveil.declare.schema import encode, encode_batch
from rankveil.engines import open_table

# Half past eleven in the evening in UTC: still the same day in New York, the next day already in Apia.
LATE = datetime(2020, 6, 30, 23, 30, tzinfo=UTC)
EARLY = datetime(2020, 6, 30, 0, 30, tzinfo=UTC)


def read(zone: str | None, *moments: datetime) -> Records:
    plan = Plan.model_validate(
        {
            "release": {"method": "synthetic", "epsilon": 1},
            "columns": {"seen": {"kind": "date", "lower": "2020-01-01", "upper": "2020-12-31"}},
        }
    )
    column = pa.array(
        moments if zone else [moment.replace(tzinfo=None) for moment in moments], pa.timestamp("us", zone)
    )
    table = open_table(pa.table({"seen": column}))
    return encode(table, declare(plan, table))


def days(zone: str | None, *moments: datetime) -> list[int]:
    return read(zone, *moments).codes["seen"].tolist()


@pytest.mark.parametrize(
    ("zone", "expected"), [("UTC", [181, 181]), ("America/New_York", [181, 180]), ("Pacific/Apia", [182, 181])]
)
def test_a_column_with_a_time_zone_gives_the_days_of_that_zone(zone: str, expected: list[int]) -> None:
    assert days(zone, LATE, EARLY) == expected


def test_a_column_without_a_time_zone_gives_its_own_days() -> None:
    assert days(None, LATE, EARLY) == [181, 181]


@pytest.mark.parametrize("zone", ["America/New_York", "Pacific/Apia"])
def test_another_record_does_not_change_the_day_of_a_record(zone: str) -> None:
    assert days(zone, LATE, EARLY)[0] == days(zone, LATE, LATE)[0]


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Pacific/Apia", None])
def test_a_released_day_is_the_same_day_when_it_is_read_again(zone: str | None) -> None:
    records = read(zone, LATE, EARLY)
    (column,) = records.schema.columns
    released = column.domain.decode(records.codes["seen"])
    assert released.type == pa.date32()
    assert encode_batch(column, released).codes.tolist() == records.codes["seen"].tolist()
