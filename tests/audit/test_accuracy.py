"""Published accuracy under attack: the production code passes and comes up to its ε, broken twins are caught."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from rankveil.audit.cases import accuracy as cases
from rankveil.audit.findings import Finding
from rankveil.audit.replay import campaign, pair
from rankveil.audit.tables import Setting
from rankveil.declare.unit import A_ROW, Sensitivity
from rankveil.evaluate import publish
from rankveil.measure import accuracy
from rankveil.measure.accuracy import Exact, Kind
from rankveil.measure.budget import Noise, Price
from rankveil.methods import METHODS
from rankveil.noise import SeededSource


def findings() -> list[Finding]:
    return list(cases.attacks(Setting(METHODS["synthetic"], Fraction(1, 2), 20, SeededSource(1))))


def test_the_original_passes_for_every_unit_and_two_of_its_three_parts_lose_all_they_may() -> None:
    found = findings()
    assert len(found) == 4
    assert not any(each.refuted for each in found)
    assert all(each.lower_bound > 0.6 * 0.5 for each in found)


def _for_one_table(kind: Kind, tables: int, price: Price) -> Noise:
    return accuracy_noise(kind, 1, price)


def _for_one_row(kind: Kind, tables: int, price: Price) -> Noise:
    return price.noise_for(Sensitivity(2 * tables, 4 * tables**2))


def _for_an_added_row(kind: Kind, tables: int, price: Price) -> Noise:
    return price.noise_for(Sensitivity(price.protects.rows * tables, tables))


accuracy_noise = accuracy.noise_of


@pytest.mark.parametrize("twin", [_for_one_table, _for_one_row, _for_an_added_row], ids=lambda twin: twin.__name__[1:])
def test_noise_for_too_small_a_change_is_caught(twin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accuracy, "noise_of", twin)
    assert any(each.refuted for each in findings())


def test_noise_whose_scale_follows_from_the_data_is_caught_by_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_the_data(exact: Exact, budget: Any, source: Any) -> Any:
        return accuracy.noisy_answers(exact, type(budget)(budget.epsilon / (1 + exact.one_way), protects=A_ROW), source)

    monkeypatch.setattr(publish, "noisy_answers", by_the_data)
    assert _replayed(pairs=10).problems


def test_an_exact_figure_on_the_certificate_is_caught_by_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    original = publish.noisy_answers

    def exact_answers(exact: Exact, budget: Any, source: Any) -> Any:
        answers = original(exact, budget, source)
        return [replace(answers[0], noisy=exact.one_way), *answers[1:]]

    monkeypatch.setattr(publish, "noisy_answers", exact_answers)
    assert any("certificate.json" in one for one in _replayed(pairs=10).problems)


def test_published_accuracy_is_replayed_and_passes() -> None:
    calls = []
    original = pair.publish_accuracy

    def counted(*arguments: Any, **more: Any) -> Any:
        calls.append(1)
        return original(*arguments, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair, "publish_accuracy", counted)
        assert _replayed(pairs=30).problems == []
    assert len(calls) >= 8


def _replayed(pairs: int) -> campaign.Replay:
    return campaign.replay(pairs=pairs, seed=5)
