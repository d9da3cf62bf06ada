"""Folds for tests, where executors can import them."""

from __future__ import annotations

from dataclasses import dataclass

from rankveil.declare.dataset import CodeBatch


@dataclass(frozen=True)
class AllCodes:
    """The codes of all rows: no statistic, but nothing shows better what an engine reads."""

    columns: tuple[str, ...]

    def zero(self) -> list[tuple[int, ...]]:
        return []

    def step(self, state: list[tuple[int, ...]], batch: CodeBatch) -> list[tuple[int, ...]]:
        return state + list(zip(*(batch[name].tolist() for name in self.columns), strict=True))

    def merge(self, first: list[tuple[int, ...]], second: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        return first + second
