"""The page about Algorithm 1 says what its commands do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rankveil.audit.cases.lists import EQUALITY
from rankveil.audit.tables import dataset, number
from rankveil.methods import METHODS
from tests.support import Ran

PAGE = (Path(__file__).parents[2] / "docs" / "why-algorithm-1-is-not-dp.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"```bash\nrankveil (.*?)\n```", PAGE)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_gives_the_verdict_that_the_page_tells(command: str, cli: Callable[..., Ran]) -> None:
    ran = cli(*command.split(), "--runs", "100")
    refuted = "published:" in command
    assert ran.code == (5 if refuted else 0)
    assert ("refuted" if refuted else "consistent") in ran.out


def test_the_printed_attacks_are_those_of_the_command(cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    ran = cli("audit", "published:individual-ranking", "--epsilon", "0.1", "--runs", "200")
    (printed,) = re.findall(r"```text\n\$ (.*?)```", PAGE, flags=re.DOTALL)

    def without_numbers(text: str) -> list[str]:
        return [re.sub(r"[\d.,]+", "#", " ".join(line.split())) for line in text.splitlines() if line.strip()]

    assert without_numbers(ran.out) == without_numbers(printed)[1:]


def test_the_table_of_the_page_shows_the_clusters_and_means_of_the_method() -> None:
    cells = [line.split("|")[1:-1] for line in PAGE.splitlines() if re.match(r"\| [1-4] \|", line)]
    for rows, value, released in ((EQUALITY[0][0], 1, 3), (EQUALITY[0][1], 4, 6)):
        assert [float(row[value].strip(" *")) for row in cells] == [row[0] for row in rows]
        clusters = METHODS["published:individual-ranking"].prepare(dataset([number("a", 4)], rows), 2).columns[0]
        means = np.empty(4)
        means[clusters.clustering.rows] = np.repeat(clusters.means(), 2)
        assert [float(row[released].split("+")[0]) for row in cells] == means.tolist()
