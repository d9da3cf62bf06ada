"""An engine publishes its own results: whole or in parts, here or elsewhere; and refuses first what it cannot do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as papq
import pytest

import rankveil as rv
from rankveil.engines import LocalEngine, Map, RowsToCome, Table
from rankveil.errors import PlanError
from rankveil.noise import SeededSource
from rankveil.verify import verify
from tests.support import category, integer, plan_text

COLUMNS = {"age": integer(99), "sex": category(["f", "m"])}
PEOPLE = pa.table({"age": [row % 100 for row in range(500)], "sex": ["f", "m"] * 250})


@dataclass(frozen=True)
class Many(LocalEngine):
    """Does everything piece by piece, as a cluster would; notes what it was asked."""

    asked: list[tuple[str | None, object]] = field(default_factory=list)

    def refuse(self, reads_records: str | None, out: object) -> None:
        self.asked.append((reads_records, out))

    def frame(self, rows: RowsToCome[Any], like: Table) -> Any:
        batches = [batch for item in rows.items for batch in rows.make(item)]
        return like.rebuild(pa.Table.from_batches(batches, rows.schema))

    def files(self, whole: Callable[[], Any], in_parts: Callable[[Map], Any]) -> Any:
        return in_parts(self.map)


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> rv.Plan:
    monkeypatch.setattr("rankveil.draw.rows.PIECE_ROWS", 64)
    return rv.Plan.parse(plan_text(COLUMNS, method="synthetic"))


def test_a_frame_made_piece_by_piece_holds_the_rows_of_one_made_at_once(plan: rv.Plan) -> None:
    whole, pieces = (rv.release(PEOPLE, plan, engine=one, source=SeededSource(1)).table for one in (None, Many()))
    assert pieces.equals(whole)


def test_parts_hold_the_rows_of_one_file_and_are_certified_as_a_whole(plan: rv.Plan, tmp_path: Path) -> None:
    table = tmp_path / "people.parquet"
    papq.write_table(PEOPLE, table)
    for name, engine in (("one", None), ("many", Many())):
        rv.release(table, plan, out=tmp_path / name, engine=engine, source=SeededSource(1))
    one, many = tmp_path / "one" / "release.parquet", tmp_path / "many" / "release.parquet"
    assert len(list(many.iterdir())) > 1
    assert papq.read_table(many).equals(papq.read_table(one))
    failed = [check.check for check in verify(many.parent / "certificate.json", many).checks if not check.holds]
    assert failed == ["made for release"], "the seed, and nothing else"


@pytest.mark.parametrize(
    ("method", "public", "reads_records"),
    [
        ("synthetic", "", None),
        ("laplace", "", "The method laplace"),
        ("synthetic", '\nrole = "public"', "A plan with public columns"),
    ],
)
def test_an_engine_is_told_what_needs_every_record_by_itself(
    method: str, public: str, reads_records: str | None
) -> None:
    engine, columns = Many(), {**COLUMNS, "sex": COLUMNS["sex"] + public}
    plan = rv.Plan.parse(plan_text(columns, method=method))

    def stop(*anything: object) -> None:
        raise PlanError("refused", remedy="none")

    object.__setattr__(engine, "fold", stop)
    with pytest.raises(PlanError, match="refused"):
        rv.release(PEOPLE, plan, engine=engine, source=SeededSource(1))
    assert engine.asked == [(reads_records, None)]


def test_a_refusal_comes_before_a_row_is_read_and_leaves_no_folder(plan: rv.Plan, tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Unable(LocalEngine):
        def refuse(self, reads_records: str | None, out: object) -> None:
            raise PlanError(f"not to {out}", remedy="none")

        def fold(self, *anything: object) -> Any:
            raise AssertionError("a row was read")

    with pytest.raises(PlanError, match="not to"):
        rv.release(PEOPLE, plan, out=tmp_path / "out", engine=Unable())
    assert not (tmp_path / "out").exists()
