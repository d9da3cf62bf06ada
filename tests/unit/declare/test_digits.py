"""Last digits: which class a code belongs to."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from rankveil import Plan
from rankveil.declare import declare_alone
from rankveil.declare.digits import LastDigits


def digits_of(**entry: Any) -> LastDigits | None:
    plan = Plan.from_dict({"release": {"method": "synthetic", "epsilon": "1"}, "columns": {"x": entry}})
    [column] = declare_alone(plan).columns
    return LastDigits.of(column)


def test_the_class_is_that_of_the_last_digit_that_is_not_zero() -> None:
    digits = digits_of(kind="integer", lower=-50, upper=2000)
    assert digits is not None and digits.places == 2
    numbers = np.array([7, 130, 1300, 0, -30, -7, 1999])
    assert digits.classes(numbers + 50).tolist() == [6, 9 + 2, 18, 18, 9 + 2, 6, 8]
    assert digits.words(Decimal(1))[11] == "last digit 30"
    assert digits.words(Decimal("0.10"))[18] == "multiple of 10"


@pytest.mark.parametrize(("lower", "upper"), [(0, 999), (-50, 2000), (18, 90_000), (-700, -3)])
def test_every_code_is_in_one_class_and_classes_list_their_codes(lower: int, upper: int) -> None:
    digits = digits_of(kind="integer", lower=lower, upper=upper)
    assert digits is not None
    every = np.concatenate([digits.codes(which) for which in range(digits.count)])
    assert sorted(every.tolist()) == list(range(upper - lower + 1))
    for which in range(digits.count):
        assert (digits.classes(digits.codes(which)) == which).all()


@pytest.mark.parametrize(("lower", "upper"), [(0, 999), (-50, 2000), (18, 90_000), (-700, -3)])
@pytest.mark.parametrize("most", [1, 3, 16])
def test_the_roundest_codes_are_all_multiples_in_a_range_and_no_finer_ones_fit(
    lower: int, upper: int, most: int
) -> None:
    digits = digits_of(kind="integer", lower=lower, upper=upper)
    assert digits is not None
    draw = np.random.default_rng(3)
    for _ in range(40):
        low, high = np.sort(draw.choice(upper - lower + 2, 2, replace=False)).tolist()
        numbers = range(lower + low, lower + high)
        units = [nice * 10**power for power in range(7) for nice in (1, 2, 5)]
        fitting = ([number for number in numbers if number % unit == 0] for unit in units)
        wanted = next(found for found in fitting if len(found) <= most)
        assert (digits.roundest(low, high, most) + lower).tolist() == wanted


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "integer", "lower": 0, "upper": 50},  # every value is counted anyway
        {"kind": "number", "lower": "0.25", "upper": "900", "step": "0.5"},  # steps that do not meet zero
        {"kind": "date", "lower": "1990-01-01", "upper": "2020-01-01"},
        {"kind": "ordinal", "categories": [str(place) for place in range(300)]},
    ],
)
def test_digits_of_labels_days_and_few_values_mean_nothing(entry: dict[str, Any]) -> None:
    assert digits_of(**entry) is None
