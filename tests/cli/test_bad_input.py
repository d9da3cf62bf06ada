"""Everything a person can hand in by mistake: one clear message, its documented exit code, no traceback, no file."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.support import INTEGER, Ran, category, files_in, integer, plan_text

Write = Callable[..., Path]
Cli = Callable[..., Ran]

USAGE, DATA, BUG = 2, 3, 1
GOOD = "a\n1\n2\n3\n4\n"
CANARY = "Zanzibar-4711"


@pytest.fixture
def refused(tmp_path: Path, cli: Cli, write_table: Write, write_plan: Write) -> Callable[..., Ran]:
    """Runs a release that must fail, in this process, and checks what holds for every failure."""

    def run(
        content: object, plan: Any = None, /, *options: object, code: int, name: str | None = None, **parts: Any
    ) -> Ran:
        path = content if isinstance(content, Path) else write_table(content, name=name)
        before = files_in(tmp_path)
        plan_path = plan if isinstance(plan, Path) else write_plan(plan, **parts)
        done = cli("release", path, "--plan", plan_path, "--out", tmp_path / "out", *options)
        check(done, code, tmp_path)
        assert set(files_in(tmp_path)) == {*before, plan_path.name}, "no file was written anywhere"
        return done

    return run


def check(done: Ran, code: int, folder: Path) -> None:
    assert done.code == code, done.text
    assert "Traceback" not in done.text
    assert done.err.strip(), "a message on standard error"
    assert files_in(folder / "out") == []
    assert CANARY not in done.text


def first_words(done: Ran) -> str:
    """The message, without progress."""
    return "\n".join(line for line in done.err.splitlines() if not line.startswith("..."))


# The list of the issue


@pytest.mark.parametrize("content", ["", "\n\n", "   "])
def test_an_empty_file(refused: Callable[..., Ran], content: str) -> None:
    assert "is empty" in refused(content, code=DATA).err


@pytest.mark.parametrize("content", ["a\n", "a", "a\r\n"])
def test_a_header_without_rows(refused: Callable[..., Ran], content: str) -> None:
    assert "no rows" in refused(content, code=DATA).err


@pytest.mark.parametrize("content", ["a\n1\n", "a\n1"])
def test_a_single_row(refused: Callable[..., Ran], content: str) -> None:
    assert "one row" in refused(content, code=DATA).err


@pytest.mark.parametrize(
    "method",
    [
        "published:individual-ranking",
        "published:multivariate",
        "published:ranking",
        "published:mdav-insensitive",
        "published:mdav",
    ],
)
def test_k_above_the_number_of_rows(refused: Callable[..., Ran], method: str) -> None:
    said = refused(GOOD, None, "--accept-no-guarantee", code=DATA, method=method, k=5).err
    assert "k = 5 is more than the 4" in said
    assert "Choose a k" in said


@pytest.mark.parametrize("k", ["0", "-1"])
def test_k_below_one(refused: Callable[..., Ran], k: str) -> None:
    assert "release.k" in refused(GOOD, code=USAGE, k=k).err
    assert "release.k" in refused(GOOD, None, "--k", k, code=USAGE).err


@pytest.mark.parametrize("k", ["many", "2.5", ""])
def test_k_that_is_not_a_number(refused: Callable[..., Ran], k: str) -> None:
    assert "--k" in refused(GOOD, None, "--k", k, code=USAGE).err


@pytest.mark.parametrize(
    "epsilon", ["0", "-1", "nan", "inf", "-inf", "much", "", "1e-400", "1e999999999", "1,5", "0x1"]
)
def test_an_epsilon_that_is_not_a_positive_number(refused: Callable[..., Ran], epsilon: str) -> None:
    assert "release.epsilon" in refused(GOOD, None, "--epsilon", epsilon, code=USAGE).err


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", '"much"'])
def test_an_epsilon_in_the_plan_that_is_not_a_positive_number(refused: Callable[..., Ran], epsilon: str) -> None:
    assert "release.epsilon" in refused(GOOD, code=USAGE, epsilon=epsilon).err


@pytest.mark.parametrize(("lower", "upper"), [(5, 5), (6, 5)])
def test_a_lower_bound_that_is_not_below_the_upper(refused: Callable[..., Ran], lower: int, upper: int) -> None:
    assert "lower must be less than upper" in refused(GOOD, {"a": integer(upper, lower=lower)}, code=USAGE).err


def test_values_outside_the_bounds(refused: Callable[..., Ran]) -> None:
    said = first_words(refused("a\n50\n-7777\n99999\n8888\n", code=DATA))
    assert "DomainError: column 'a': 3 of 4 values lie outside the declared range 0 to 100." in said
    assert "clamp = true" in said
    assert not any(value in said for value in ("7777", "99999", "8888"))


def test_values_outside_the_bounds_are_moved_to_them_if_the_plan_says_clamp(
    cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path
) -> None:
    columns = {"a": integer(100, more='clamp = true\nrole = "public"'), "b": INTEGER}
    table = write_table("a,b\n50,1\n-7777,1\n99999,1\n")
    done = cli("release", table, "--plan", write_plan(columns), "--out", tmp_path / "out")
    assert done.code == 0, done.err
    rows = (tmp_path / "out" / "release.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["a", "50", "0", "100"]


@pytest.mark.parametrize("value", ["nan", "NaN"])
def test_not_a_number_where_nothing_may_be_missing(refused: Callable[..., Ran], value: str) -> None:
    said = refused(f"a\n1\n{value}\n", code=DATA).err
    assert "1 of 2 values are missing" in said
    assert "null = true" in said


@pytest.mark.parametrize("value", ["inf", "-inf", "Infinity", "1e999"])
@pytest.mark.parametrize("kind", ["integer", "number"])
def test_infinities(refused: Callable[..., Ran], value: str, kind: str) -> None:
    said = refused(f"a\n1\n{value}\n", {"a": f'kind = "{kind}"\nlower = 0\nupper = 9'}, code=DATA).err
    assert "1 of 2 values lie outside" in said


def test_not_a_number_and_infinities_in_parquet(refused: Callable[..., Ran]) -> None:
    table = pa.table({"a": [1.0, float("nan"), float("inf"), float("-inf")]})
    said = refused(table, {"a": 'kind = "number"\nlower = 0\nupper = 9'}, code=DATA).err
    assert "2 of 4 values lie outside" in said
    assert "1 of 4 values are missing" in said


def test_text_in_a_column_of_numbers(refused: Callable[..., Ran]) -> None:
    said = refused(f"a\n1\n{CANARY}\n", code=DATA).err
    assert "1 of 2 values are not whole numbers" in said
    assert "Correct the kind" in said
    assert "not numbers" in refused(f"a\n1\n{CANARY}\n", {"a": 'kind = "number"\nlower = 0\nupper = 9'}, code=DATA).err


def test_fractions_in_a_column_of_whole_numbers(refused: Callable[..., Ran]) -> None:
    assert "1 of 2 values are not whole numbers" in refused("a\n1\n2.5\n", code=DATA).err


def test_text_in_a_column_of_dates(refused: Callable[..., Ran]) -> None:
    entry = 'kind = "date"\nlower = 2020-01-01\nupper = 2021-01-01'
    said = refused(f"a\n2020-05-05\n{CANARY}\n2020-02-30\n", {"a": entry}, code=DATA).err
    assert "2 of 3 values are not dates in the declared format" in said


def test_a_date_format_without_a_date(run_cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path) -> None:
    """In a process of its own: with an empty format Arrow reads memory that is not its own, which ended the command."""
    entry = 'kind = "date"\nlower = 2020-01-01\nupper = 2021-01-01\nformat = ""'
    table, plan = write_table("a\n2020-05-05\n2020-05-06\n"), write_plan({"a": entry})
    done = run_cli("release", table, "--plan", plan, "--out", tmp_path / "out")
    check(done, USAGE, tmp_path)
    assert "columns.a: format does not give back every day" in done.err


def test_empty_fields_where_nothing_may_be_missing(refused: Callable[..., Ran]) -> None:
    assert (
        "2 of 3 values are missing"
        in refused("a,b\n1,x\n,x\n?,x\n", {"a": INTEGER, "b": 'kind = "drop"'}, code=DATA).err
    )


def test_a_label_that_is_no_category(refused: Callable[..., Ran]) -> None:
    said = refused(f"a\nx\n{CANARY}\n", {"a": category(["x", "y"])}, code=DATA).err
    assert "1 of 2 values are not among its categories" in said
    assert "Add the labels" in said


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ("node,parent\nr,\na,b\nb,a\n", "cycle"),
        ("node,parent\na,b\nb,a\n", "cycle"),
        ("node,parent\nr,\ns,\nx,r\n", "2 roots"),
        ("node,parent\nr,\ny,r\n", "no node for the label 'x'"),
        ("", "is empty"),
        ("nonsense", "neither a node,parent file nor an ARX hierarchy"),
    ],
)
def test_a_broken_taxonomy(refused: Callable[..., Ran], tmp_path: Path, tree: str, words: str) -> None:
    (tmp_path / "tree.csv").write_text(tree)
    entry = 'kind = "category"\ntaxonomy = "tree.csv"\ncategories = ["x"]'
    assert words in refused("a\nx\nx\n", {"a": entry}, code=USAGE).err


def test_a_label_of_the_table_that_its_taxonomy_lacks(refused: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("node,parent\nr,\nx,r\ny,r\n")
    said = refused(f"a\nx\n{CANARY}\n", {"a": 'kind = "category"\ntaxonomy = "tree.csv"'}, code=DATA).err
    assert "1 of 2 values are not among its categories" in said


def test_an_inner_concept_is_not_a_label_of_a_table(refused: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("node,parent\nr,\nx,r\ny,r\n")
    assert "not among" in refused("a\nx\nr\n", {"a": 'kind = "category"\ntaxonomy = "tree.csv"'}, code=DATA).err


def test_a_taxonomy_file_that_is_not_there(refused: Callable[..., Ran]) -> None:
    assert (
        "gone.csv cannot be read"
        in refused("a\nx\nx\n", {"a": 'kind = "category"\ntaxonomy = "gone.csv"'}, code=USAGE).err
    )


def test_duplicate_column_names(refused: Callable[..., Ran]) -> None:
    assert "columns 1 and 2 have the same name" in refused("a,a\n1,2\n3,4\n", code=DATA).err


def test_a_column_without_a_name(refused: Callable[..., Ran]) -> None:
    assert "column 2 has no name" in refused("a,\n1,2\n3,4\n", code=DATA).err


def test_a_plan_column_that_is_not_in_the_table(refused: Callable[..., Ran]) -> None:
    assert "declares column 'b', which the table" in refused(GOOD, {"a": INTEGER, "b": INTEGER}, code=DATA).err


def test_a_table_column_that_is_not_in_the_plan(refused: Callable[..., Ran]) -> None:
    said = refused("a,b,c\n1,2,3\n4,5,6\n", code=DATA).err
    assert "has columns 'b', 'c', which the plan does not mention" in said
    assert 'kind = "drop"' in said


def test_ten_thousand_columns(refused: Callable[..., Ran], tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(10_000)]
    wide = ",".join(names) + "\n" + (",".join(["1"] * 10_000) + "\n") * 3
    assert "10000 columns" in refused(wide, code=DATA).err
    plan = plan_text(dict.fromkeys(names, "kind = 'drop'"))
    assert "10000 columns" in refused(GOOD, plan, code=USAGE).err
    parquet = pa.table({name: [1, 2] for name in names[:2000]})
    assert "2000 columns" in refused(parquet, code=DATA).err


LARGE = 200 << 20


def _large(path: Path, head: bytes) -> Path:
    """A file of 200 MB: `head`, then one endless line of digits."""
    with path.open("wb") as file:
        file.write(head)
        block = b"1" * (8 << 20)
        for _ in range(LARGE // len(block)):
            file.write(block)
    return path


@pytest.mark.parametrize(
    ("head", "words"),
    [(b"", "first line is longer"), (b"a\n1\n2\n", "a line is longer than"), (b"a,b\n", "a line is longer than")],
)
def test_a_file_of_two_hundred_megabytes_in_a_single_line(
    run_cli: Cli, write_plan: Write, tmp_path: Path, head: bytes, words: str
) -> None:
    path = _large(tmp_path / "large.csv", head)
    try:
        columns = {"a": INTEGER} | ({"b": INTEGER} if b"," in head else {})
        done = run_cli("release", path, "--plan", write_plan(columns), "--out", tmp_path / "out", timeout=30)
        check(done, DATA, tmp_path)
        assert words in done.err
        if not head:
            check(run_cli("init", path, "--out", tmp_path / "draft.toml", timeout=30), DATA, tmp_path)
    finally:
        path.unlink()


@pytest.mark.parametrize("where", ["file", "file/below", "/proc/rankveil", "/dev/null/x"])
def test_an_output_folder_that_cannot_be_written_to(
    cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path, where: str
) -> None:
    (tmp_path / "file").write_text("in the way")
    done = cli("release", write_table(GOOD), "--plan", write_plan(), "--out", tmp_path / where)
    check(done, USAGE, tmp_path)
    assert "cannot be written to" in done.err
    assert "Choose another folder" in done.err


# More of the same kind


@pytest.mark.parametrize(
    "content", [bytes(range(256)) * 10, b"PAR1 broken", b"\x1f\x8b broken", b"a\n1\n\xff\n", b"a,b\n1\n2,3\n"]
)
def test_files_that_are_no_tables(refused: Callable[..., Ran], content: bytes) -> None:
    refused(content, code=DATA)


def test_a_table_that_is_not_there_or_a_folder(refused: Callable[..., Ran], tmp_path: Path) -> None:
    assert "does not exist" in refused(tmp_path / "gone.csv", code=DATA).err
    (tmp_path / "folder").mkdir()
    assert "is a folder" in refused(tmp_path / "folder", code=DATA).err


def test_a_plan_that_is_not_there_or_no_plan(cli: Cli, write_table: Write, tmp_path: Path) -> None:
    table = write_table(GOOD)
    for plan in (tmp_path / "gone.toml", tmp_path, table):
        check(cli("release", table, "--plan", plan, "--out", tmp_path / "out"), USAGE, tmp_path)


def test_an_encoding_that_is_none(refused: Callable[..., Ran]) -> None:
    for encoding in ("hex", "rot13", "klingon"):
        assert "encoding" in refused(GOOD, code=DATA, table=f'encoding = "{encoding}"').err


def test_unconfirmed_guesses(refused: Callable[..., Ran]) -> None:
    said = refused(GOOD, {"a": integer(9, more='unconfirmed = ["upper"]')}, code=USAGE).err
    assert "GuaranteeError" in said
    assert "a: upper" in said


def test_a_published_method_without_consent(refused: Callable[..., Ran]) -> None:
    said = refused(GOOD, None, "--method", "published:individual-ranking", "--k", 2, code=USAGE).err
    assert "--accept-no-guarantee" in said
    assert "does not give differential privacy" in said


def test_a_method_that_does_not_exist(refused: Callable[..., Ran]) -> None:
    assert "There is no method 'magic'" in refused(GOOD, None, "--method", "magic", code=USAGE).err


def test_no_output_folder(cli: Cli, write_table: Write, write_plan: Write) -> None:
    done = cli("release", write_table(GOOD), "--plan", write_plan())
    assert done.code == USAGE
    assert "--out is needed" in done.err


@pytest.mark.parametrize(
    "arguments", [["release"], ["frobnicate"], ["release", "--frobnicate"], ["init"], ["evaluate", "x"]]
)
def test_wrong_usage(cli: Cli, arguments: list[str]) -> None:
    done = cli(*arguments)
    assert done.code == USAGE
    assert "Traceback" not in done.text


def test_a_table_that_does_not_fit_a_release_it_is_evaluated_against(
    cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path
) -> None:
    table, plan = write_table(GOOD), write_plan()
    (tmp_path / "empty").mkdir()
    for other, words in (
        (tmp_path / "empty", "holds no release"),
        (write_table("a\n1\n2\n", name="short.csv"), "rows cannot be compared"),
        (write_table("b\n1\n2\n", name="other.csv"), "lacks 1 column"),
        (tmp_path / "gone.csv", "does not exist"),
    ):
        done = cli("evaluate", table, other, "--plan", plan)
        assert (done.code, words in done.err, "Traceback" in done.text) == (DATA, True, False)


def test_many_columns_that_do_not_fit_are_reported_together(refused: Callable[..., Ran]) -> None:
    said = refused("a,b,c\n1,x,2\nw,9,999\n", {"a": INTEGER, "b": category(["x"]), "c": INTEGER}, code=DATA).err
    assert all(f"column {name!r}: 1 of 2" in said for name in "abc")


# For machines


@pytest.mark.parametrize(
    ("table", "options", "kind", "code"),
    [
        ("a\n1\n999\n", [], "DomainError", DATA),
        ("", [], "TableError", DATA),
        (GOOD, ["--epsilon", "0"], "PlanError", USAGE),
        (GOOD, ["--method", "published:ranking", "--k", "2"], "GuaranteeError", USAGE),
    ],
)
def test_with_json_a_refusal_is_an_object_on_standard_output(
    refused: Callable[..., Ran], table: str, options: list[str], kind: str, code: int
) -> None:
    done = refused(table, None, *options, "--json", code=code)
    said = json.loads(done.out)
    assert (said["error"], said["exit_code"]) == (kind, code)
    assert set(said) == {"error", "problem", "cost", "remedy", "exit_code"}


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_an_unexpected_exception_is_a_bug_told_without_its_text(
    cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    def broken(*arguments: object, **more: object) -> None:
        raise ValueError(f"bad value {CANARY}")

    monkeypatch.setattr(importlib.import_module("rankveil.release.steps"), "declare", broken)
    monkeypatch.delenv("RANKVEIL_DEBUG", raising=False)
    done = cli("release", write_table(GOOD), "--plan", write_plan(), "--out", tmp_path / "out", *options)
    check(done, BUG, tmp_path)
    assert "This is a bug in rankveil: ValueError" in done.err
    assert "test_bad_input.py" in done.err, "it says where"


def test_the_traceback_of_a_bug_is_shown_to_those_who_ask_for_it(
    cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object, **more: object) -> None:
        raise ValueError("the text")

    monkeypatch.setattr(importlib.import_module("rankveil.release.steps"), "declare", broken)
    monkeypatch.setenv("RANKVEIL_DEBUG", "1")
    done = cli("release", write_table(GOOD), "--plan", write_plan(), "--out", tmp_path / "out")
    assert done.code == BUG
    assert "Traceback" in done.err


def test_an_interrupted_run_ends_with_its_own_code_and_no_traceback(
    cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib.import_module("rankveil.release.steps"), "declare", interrupted)
    done = cli("release", write_table(GOOD), "--plan", write_plan(), "--out", tmp_path / "out")
    assert done.code == 130
    assert "Traceback" not in done.text


# The same through the real command: exit codes survive the process


@pytest.mark.parametrize(
    ("table", "options", "code"),
    [
        ("", [], DATA),
        (f"a\n1\n{CANARY}\n", [], DATA),
        (GOOD, ["--epsilon", "nan"], USAGE),
        (GOOD, ["--method", "published:mdav", "--k", "2"], USAGE),
        (GOOD, ["--k", "x"], USAGE),
    ],
)
def test_the_real_command_ends_with_the_documented_code(
    run_cli: Cli, write_table: Write, write_plan: Write, tmp_path: Path, table: str, options: list[str], code: int
) -> None:
    done = run_cli("release", write_table(table), "--plan", write_plan(), "--out", tmp_path / "out", *options)
    check(done, code, tmp_path)
