"""Every citation of a theorem resolves, theorems and modules name each other, and pages are what the package ships."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from docs import generate
from rankveil import privacy
from rankveil.declare import Plan
from rankveil.methods import METHODS
from rankveil.noise import SeededSource
from rankveil.privacy import theorems
from rankveil.release import release
from tests.support import Ran, category, integer, plan_text

ROOT = Path(generate.__file__).parent.parent
PACKAGE = ROOT / "src" / "rankveil"
TEXTS = (".py", ".md", ".jinja", ".sh", ".toml", ".ipynb", ".json")
# Where a module that claims a guarantee has to name a theorem.
GUARANTEED = ("measure", "fit", "draw", "microaggregate", "perturb", "aligned", "published", "audit")


def tracked() -> list[Path]:
    """The repository's texts, new files included."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    names = listed.stdout.split("\n") if listed.returncode == 0 else []
    if not any(names):
        pytest.skip("not a git checkout")
    found = [ROOT / name for name in names if name.endswith(TEXTS)]
    return [path for path in found if path.is_file() and "results" not in path.parts and "corpus" not in path.parts]


def docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def test_every_citation_resolves() -> None:
    unknown = {
        str(path.relative_to(ROOT)): strange
        for path in tracked()
        if path != Path(__file__)
        for strange in [set(privacy.ID.findall(path.read_text(encoding="utf-8"))) - theorems().keys()]
        if strange
    }
    assert unknown == {}


def test_the_names_of_the_old_note_are_gone() -> None:
    # F8.2 is a format of SPSS.
    old = re.compile(r"\bTheorem \d|\bCorollary \d|(?<!docs/)\bprivacy\.md|\b[QF](?:1[0-7]|[1-9])\b(?![-:=]|\.[\d{])")
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in tracked()
        if path != Path(__file__) and path.suffix in (".py", ".md", ".jinja", ".sh", ".ipynb")
        for match in old.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize("theorem", theorems().values(), ids=lambda one: one.id)
def test_a_theorem_has_statement_and_proof_and_is_named_by_the_modules_that_rely_on_it(
    theorem: privacy.Theorem,
) -> None:
    assert theorem.statement.endswith(".")
    assert theorem.proof.startswith("**Proof.** ") and "∎" in theorem.proof
    assert theorem.modules, "no module relies on it"
    for module in theorem.modules:
        assert theorem.id in privacy.ID.findall((PACKAGE / module).read_text(encoding="utf-8")), module
    for test in theorem.checked_by:
        assert (ROOT / test).is_file(), test


def test_no_two_theorems_share_an_id_or_a_title() -> None:
    headings = [
        line for page in privacy.PAGES for line in re.findall(r"^## (T\d+) (.+)$", privacy.page_text(page), re.M)
    ]
    assert len(headings) == len(theorems()) == len({identity for identity, _ in headings})
    assert len({title.lower() for _, title in headings}) == len(headings)


def test_a_module_that_claims_a_guarantee_names_a_theorem_which_names_it() -> None:
    without = []
    for folder in GUARANTEED:
        for path in (PACKAGE / folder).rglob("*.py"):
            words = docstring(path)
            claims = re.search(r"^Guarantee|[Pp]ost-processing", words, flags=re.MULTILINE)
            if claims and path.name != "__init__.py":
                own = path.relative_to(PACKAGE).as_posix()
                if not any(own in theorems()[one].modules for one in privacy.ID.findall(words)):
                    without.append(own)
    assert without == []


def test_the_pages_in_docs_are_those_of_the_package_with_links_that_lead_somewhere() -> None:
    made = {path: text for path, text in generate.contents().items() if path.parent == generate.PRIVACY}
    assert set(made) == set(generate.PRIVACY.iterdir())
    headings = {
        path.name: {f"#{one.anchor}" for one in theorems().values() if f"{one.page}.md" == path.name} for path in made
    }
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, "run: python -m docs.generate"
        for target in re.findall(r"\]\(([^)]+)\)", text):
            name, _, anchor = target.partition("#")
            assert (path.parent / (name or path.name)).is_file(), target
            if anchor:
                assert f"#{anchor}" in headings[name or path.name], target


def test_links_to_the_pages_from_elsewhere_lead_to_a_heading() -> None:
    headings: dict[str, set[str]] = {}
    for page in [*privacy.PAGES]:
        lines = re.findall(r"^#+ (.+)$", privacy.page_text(page), flags=re.MULTILINE)
        headings[page] = {re.sub(r"[^\w\s-]", "", line.lower()).replace(" ", "-") for line in lines}
    found = 0
    for path in tracked():
        if path.suffix == ".md" and path.parent != generate.PRIVACY:
            for page, anchor in re.findall(r"privacy/(\w+)\.md(?:#([\w-]+))?\)", path.read_text(encoding="utf-8")):
                found += 1
                assert page == "README" or not anchor or anchor in headings[page], f"{path.name}: {page}#{anchor}"
    assert found


# Certificates


@pytest.mark.parametrize(
    ("method", "delta"),
    [*((name, None) for name in METHODS), *((name, "0.000001") for name in METHODS if METHODS[name].uses_delta)],
)
def test_a_certificate_quotes_the_theorems_of_its_method_and_of_every_share(method: str, delta: str | None) -> None:
    numbers = integer(9, more="null = true")
    columns = {"a": numbers, "b": category(["x", "y"]), "c": numbers}
    epsilon = "4" if delta is None else f"4\ndelta = {delta}"
    text = plan_text(columns, method=method, epsilon=epsilon, k=20 if METHODS[method].needs_clusters else None)
    table = pa.table({"a": [1, 2, None, 4] * 50, "b": ["x", "y"] * 100, "c": list(range(10)) * 20})
    made = release(table, Plan.parse(text), accept_no_guarantee=True, source=SeededSource(1)).certificate
    content = json.loads(made.to_json())
    cited = {one["id"]: one for one in content["theorems"]}
    for one in cited.values():
        theorem = theorems()[one["id"]]
        assert one == {
            "id": theorem.id,
            "title": theorem.title,
            "sentence": theorem.statement,
            "where": theorem.where,
        }
    assert content["theorems"][0]["id"] == METHODS[method].theorems[0]
    for share in content["shares"]:
        assert set(share["theorems"]) <= cited.keys()
        assert share["theorems"] or not METHODS[method].differentially_private
    assert cited.keys() & {"T4", "T46"} == (set() if delta is None else {"T46"})
    assert content["accounting"] == (None if delta is None else "gaussian")


# The command


def test_explain_prints_statement_and_proof_of_one_and_the_titles_of_all(run_cli: Callable[..., Ran]) -> None:
    one = run_cli("explain", "t20")
    assert one.code == 0
    words = " ".join(one.out.split())
    assert "T20 Stability of a sorted column" in words
    assert "Statement." in words and "order statistic" in words and "microaggregate/ranking.py" in words
    assert run_cli("explain", "stability of a sorted column").out == one.out
    assert run_cli("explain", "T20 Stability of a sorted column").out == one.out
    every = run_cli("explain")
    assert every.code == 0
    for theorem in theorems().values():
        assert theorem.id in every.out and theorem.title in every.out


def test_explain_prints_json(run_cli: Callable[..., Ran]) -> None:
    one = json.loads(run_cli("explain", "T6", "--json").out)
    assert one["title"] == "Discrete Laplace noise" and one["where"].startswith("docs/privacy/noise.md#")
    assert [each["id"] for each in json.loads(run_cli("explain", "--json").out)] == list(theorems())


def test_an_unknown_theorem_is_refused_with_its_near_ones(run_cli: Callable[..., Ran]) -> None:
    ran = run_cli("explain", "post processing")
    assert ran.code == 2
    assert "There is no theorem 'post processing'" in ran.err and "T1 Post-processing" in ran.err
    assert "rankveil explain" in run_cli("explain", "T99").err
