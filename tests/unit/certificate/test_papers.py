"""The registry's entry and NIST's page: valid, complete, and silent about nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from rankveil.certificate import Certificate
from rankveil.certificate.nist import TO_ANSWER, blocks, nist_page
from rankveil.certificate.registry import as_yaml, registry_entry
from rankveil.errors import GuaranteeError
from tests.certificates import CASES, certificate_of
from tests.support import Ran

Cli = Callable[..., Ran]
PRIVATE = [name for name in CASES if not name.startswith("published")]
SCHEMA = json.loads((Path(__file__).parent / "registry.schema.json").read_text())


def problems(entry: Any) -> list[str]:
    checker = jsonschema.Draft7Validator(SCHEMA, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)
    return [f"{'.'.join(map(str, error.path))}: {error.message}" for error in checker.iter_errors(entry)]


def entry_of(certificate: Certificate) -> dict[str, Any]:
    return registry_entry(certificate, author="A. Person", curator_type="Government")


@pytest.mark.parametrize("name", PRIVATE)
def test_every_entry_is_valid_under_the_registrys_schema_also_as_it_is_written(name: str) -> None:
    entry = entry_of(certificate_of(name))
    assert problems(entry) == []
    assert yaml.safe_load(as_yaml(entry)) == entry
    tokens = [token.style for token in yaml.scan(as_yaml(entry)) if isinstance(token, yaml.ScalarToken)]
    assert set(tokens) <= {None, "|", '"'}, "folded texts are refused there"


@pytest.mark.parametrize(
    "damage",
    [
        lambda entry: entry.pop("url_slug"),
        lambda entry: entry["deployment"]["basic"].update(data_product_type="Surprise"),
        lambda entry: entry["deployment"]["basic"].update(publication_date="1/1/2031"),
        lambda entry: entry["deployment"]["dp_variant"].update(variant_name="Very private"),
        lambda entry: entry["deployment"]["privacy_loss"]["privacy_parameters"].update(epsilon="1"),
        lambda entry: entry["deployment"]["administrative"].update(tier=4),
        lambda entry: entry["deployment"].update(surprise=1),
    ],
)
def test_the_schema_refuses_what_the_registry_refuses(damage: Callable[[Any], object]) -> None:
    entry = entry_of(certificate_of("synthetic"))
    damage(entry)
    assert problems(entry)


def test_the_entry_answers_what_the_registry_asks_about_the_implementation() -> None:
    entry = entry_of(certificate_of("delta"))["deployment"]
    for word in ("Floating point", "Timing", "Platform", "discrete Gaussian"):
        assert word in entry["implementation"]["mechanisms"]
    assert entry["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert entry["basic"]["data_curators"] == [
        {"data_curator_name": "Office of Towns & Co", "data_curator_type": "Government"}
    ]
    assert entry["basic"]["data_product_sector"] == "Government"
    assert TO_ANSWER in entry["implementation"]["justification"]


def test_persons_are_the_unit_where_persons_are_protected() -> None:
    entry = entry_of(certificate_of("persons"))["deployment"]["privacy_loss"]
    assert entry["privacy_unit"] == "Person-level"
    assert "number_of_privacy_units" not in entry, "how many persons there are is not public"


def test_what_is_not_differentially_private_gets_no_entry() -> None:
    with pytest.raises(GuaranteeError, match="not differentially private"):
        entry_of(certificate_of("published:individual-ranking"))


NAMES = [
    "Privacy parameters",
    "Unit of privacy",
    "Algorithms and correctness",
    "Utility",
    "Bias",
    "Security and access control",
    "Trust model",
    "Side channels",
    "Data collection exposure",
]


@pytest.mark.parametrize("name", CASES)
def test_every_block_of_the_pyramid_is_answered_or_asked(name: str) -> None:
    found = blocks(certificate_of(name))
    assert [block.name for block in found] == NAMES
    assert all(block.answered or block.asked for block in found)
    page = nist_page(certificate_of(name))
    for block in found:
        assert block.name in page
    assert page.count(f"<p>{TO_ANSWER}:</p>") == sum(bool(block.asked) for block in found)
    assert ("NOT differentially private" in page) == name.startswith("published")


def test_measured_figures_are_not_called_widths_of_the_noise() -> None:
    [utility] = [block for block in blocks(certificate_of("all papers")) if block.name == "Utility"]
    place = next(place for place, line in enumerate(utility.answered) if line.startswith("These widths"))
    before, after = utility.answered[:place], utility.answered[place + 1 :]
    assert all("noise on" in line for line in before) and before
    assert all(line.startswith("Measured, with noise: ") for line in after) and after


def test_the_command_writes_both_and_refuses_to_write_beside_the_release(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "certificate.json").write_text(certificate_of("synthetic").to_json())
    asked = ("certificate", folder, "--registry", "--author", "A", "--curator-type", "nonprofit")
    assert cli(*asked, "--out", tmp_path / "entry.yaml").code == 0
    assert problems(yaml.safe_load((tmp_path / "entry.yaml").read_text())) == []
    assert problems(json.loads(cli(*asked, "--json").out)) == []
    assert cli("certificate", folder, "--registry").code == 2, "who fills it in, no certificate knows"
    assert cli("certificate", folder, "--nist", "--out", folder / "nist.html").code == 2
    assert "pyramid" in cli("certificate", folder, "--nist").out
    assert "synthetic" in cli("certificate", folder).out
    (folder / "certificate.json").write_text("{}")
    assert cli("certificate", folder).code == 2


@pytest.mark.parametrize("form", [("--registry", "--author", "A", "--curator-type", "nonprofit"), ("--nist",)], ids=str)
def test_a_number_that_would_take_hours_is_refused(cli: Cli, tmp_path: Path, form: tuple[str, ...]) -> None:
    content = json.loads(certificate_of("delta").to_json())
    shares = [{**content["shares"][0], "rho": "1e999999999"}]
    for change in ({"epsilon": "1e999999999"}, {"delta": "1e-999999999"}, {"shares": shares}):
        (tmp_path / "certificate.json").write_text(json.dumps(content | change))
        ran = cli("certificate", tmp_path, *form)
        assert (ran.code, "a number in it is none" in ran.err) == (2, True)
