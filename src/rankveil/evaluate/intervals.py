"""How many intervals of a release with replicates cover what the original says: standard estimates, internal.

Estimates    Shares with one label or up to a quartile, of one column and of two; means, medians, and differences of
             means between two groups. What is asked follows from the released rows alone.
Read         One release: its estimates share one draw of the noise, so the part that is covered differs from release to
             release by more than as many coins would.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from rankveil.certificate import Certificate
from rankveil.declare.schema import Records
from rankveil.errors import EstimateError
from rankveil.estimate import Frame, estimate
from rankveil.estimate.intervals import values as values_of
from rankveil.evaluate.results import IntervalKind, IntervalResult, Intervals
from rankveil.noise import Sampler, SeededSource
from rankveil.write.decode import ColumnDecoder

LEVEL = 0.95
_EACH = {"shares of one column": 40, "shares of two columns": 40, "means, medians and differences": 40}
_FEWEST = 0.01  # of the rows: shares of fewer are not asked for


def measure_intervals(original: Records, folder: Path, certificate: Certificate) -> Intervals:
    """Standard estimates from a release's folder, beside the values that the original has."""
    frame = Frame.of(folder)
    table = pa.table(
        {
            column.name: ColumnDecoder(column, "values")(original.codes[column.name])
            for column in original.schema.columns
        }
    )
    one = pa.table({name: np.ones(original.row_count) for name in ("rv_w1", "rv_p1", "rv_s1")})
    truth = Frame.made([table], one, certificate.model_copy(update={"rows": original.row_count}))
    found = []
    for kind, ask in _asked(frame):
        try:
            [said] = estimate(frame, ask, level=LEVEL).each
            value = next(iter(values_of(truth, ask).values()))
        except (EstimateError, ValueError):  # a group that one of the tables does not have
            continue
        covered = said.low - 1e-9 <= value <= said.high + 1e-9
        found.append(IntervalResult(ask, kind, value, said.estimate, said.low, said.high, said.supported, covered))
    kinds = []
    for kind in _EACH:
        here = [each for each in found if each.kind == kind]
        sure, weak = ([each for each in here if each.supported == supported] for supported in (True, False))
        if here:
            kinds.append(IntervalKind(kind, len(sure), _part(sure), len(weak), _part(weak)))
    return Intervals(LEVEL, len(frame.table), tuple(kinds), tuple(found))


def _part(found: list[IntervalResult]) -> float | None:
    return float(np.mean([each.covered for each in found])) if found else None


def _asked(frame: Frame) -> Iterator[tuple[str, str]]:
    """Kinds and questions."""
    draw = Sampler(SeededSource(7))  # always the same ones
    conditions: list[list[str]] = []
    numbers: list[str] = []
    for name, each in frame.columns.items():
        quoted = f"`{name}`"
        known = each.amounts[~np.isnan(each.amounts)]
        found: list[str] = []
        if "`" in name or each.is_date or not len(known):
            continue
        if each.labels is None:
            numbers.append(quoted)
            cuts = np.unique(np.quantile(known, [0.25, 0.5, 0.75], method="inverted_cdf"))
            found = [f"{quoted} <= {cut:.12g}" for cut in cuts if cut < known.max()]
        elif each.labels == ("false", "true"):
            found = [f"{quoted} = true"]
        else:
            counts = np.bincount(known.astype(np.int64), minlength=len(each.labels))
            heavy = [place for place in np.argsort(-counts, kind="stable")[:4] if counts[place] > _FEWEST * frame.rows]
            texts = [each.labels[place].replace("'", "''") for place in heavy]
            found = [f"{quoted} = '{text}'" for text in texts]
        if found:
            conditions.append(found)
    one, two, amounts = _EACH
    single = [f"share({each})" for found in conditions for each in found]
    for place in sorted(draw.permutation(len(single))[: _EACH[one]].tolist()):
        yield one, single[place]
    if len(conditions) > 1:
        pairs = {" and ".join(_some(conditions, draw)) for _ in range(_EACH[two])}
        yield from ((two, f"share({pair})") for pair in sorted(pairs))
    asks = [f"{what}({x})" for x in numbers for what in ("mean", "median")]
    while numbers and len(conditions) > 1 and len(asks) < _EACH[amounts]:
        x, (given, _) = _any(numbers, draw), _some(conditions, draw)
        asks.append(f"mean({x}) where {given} minus mean({x}) where not ({given})")
    yield from ((amounts, ask) for ask in dict.fromkeys(asks[: _EACH[amounts]]))


def _some(conditions: Sequence[Sequence[str]], draw: Sampler) -> tuple[str, str]:
    """Conditions on two columns."""
    first, second = draw.permutation(len(conditions))[:2].tolist()
    return _any(conditions[first], draw), _any(conditions[second], draw)


def _any(found: Sequence[str], draw: Sampler) -> str:
    return found[int(float(draw.uniform(1)[0]) * len(found))]
