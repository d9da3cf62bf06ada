"""Measure a release against its original: column by column, pair by pair, and on average.

What is measured depends on the release. Relative errors compare row with row, so they need a release whose rows belong
to the rows of the original; its certificate says so. All other measures compare the two tables as wholes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from rankveil.certificate import Certificate
from rankveil.declare import Plan, Schema, declare, encode, planned
from rankveil.engines import Table, open_table
from rankveil.errors import EstimateError, MissingExtraError, PlanError, TableError
from rankveil.evaluate.intervals import measure_intervals
from rankveil.evaluate.learning import check_target, learning_scores, propensity_auc
from rankveil.evaluate.measuring import measure_all, measure_details, on_common_ranges
from rankveil.evaluate.results import Evaluation
from rankveil.evaluate.scores import with_scores
from rankveil.formats.addresses import is_address
from rankveil.methods import method_named
from rankveil.write import CERTIFICATE_NAME, RELEASE_NAMES

Progress = Callable[[str], None]


def evaluate(
    table: object,
    release: object,
    plan: Plan | str | Path,
    *,
    row_aligned: bool | None = None,
    target: str | None = None,
    test: object = None,
    progress: Progress = lambda stage: None,
) -> Evaluation:
    """Information loss of `release`, a released version of `table` under `plan`. Internal: it reads the original.

        >>> made = rv.release(people, plan)
        >>> found = rv.evaluate(people, made.table, plan)
        >>> found.rows
        500
        >>> 0 < found.total_variation < 0.5  # the share of rows that would have to change, on average over columns
        True

    `release` is a table, or the folder of a release. Without `row_aligned`, the certificate beside the release says
    whether rows belong together, and without a certificate the plan's method does. `target` and `test` go together:
    a learner is taught to predict the column `target` by the release and examined on `test`, real records that were
    not released.
    """
    check_target(target, test)
    plan = plan if isinstance(plan, Plan) else Plan.load(plan)
    if isinstance(release, str | Path) and not is_address(release):
        release = release_file(Path(release))
    certificate = certificate_beside(release) if row_aligned is None else None
    if row_aligned is None:
        row_aligned = (method_named(plan.release.method) if certificate is None else certificate).row_aligned
    progress("reading the table and the release")
    opened = open_table(table, separator=plan.table.separator, encoding=plan.table.encoding)
    plan = plan.over(opened.schema.names)
    schema = declare(plan, opened)
    original = encode(opened, schema)
    opened_release = open_table(release, separator=plan.table.separator).unescaped(schema.names)
    released = encode(with_columns(opened_release, schema), schema, released=True)
    progress("measuring columns and pairs")
    ranged = on_common_ranges(original, released)
    result = measure_all(*ranged, row_aligned=row_aligned)
    progress("measuring groups of people")
    result = measure_details(result, *ranged)
    if certificate is not None and certificate.weights is not None and isinstance(release, Path):
        progress("measuring intervals")
        try:
            result = replace(result, intervals=measure_intervals(original, release.parent, certificate))
        except EstimateError as error:
            result = replace(result, not_measured={**result.not_measured, "intervals": error.problem})
    learnt: list[tuple[str, str, Callable[[], Any]]] = [
        ("propensity_auc", "learning to tell the tables apart", lambda: propensity_auc(original, released))
    ]
    if target is not None:
        opened_test = open_table(test, separator=plan.table.separator, encoding=plan.table.encoding)
        real = encode(with_columns(opened_test, schema), schema)
        learnt.append(
            ("learning", f"learning to predict {target}", lambda: learning_scores(original, released, real, target))
        )
    for name, stage, measured in learnt:
        progress(stage)
        try:
            result = replace(result, **{name: measured()})
        except MissingExtraError as error:
            result = replace(result, not_measured={**result.not_measured, name: error.remedy})
    return with_scores(result)


def release_file(path: Path) -> Path:
    """The release itself, where the folder of a release is named."""
    if not path.is_dir() or any(path.glob("part-*")):  # a file, or a release in parts
        return path
    for name in RELEASE_NAMES:
        if (path / name).exists():
            return path / name
    raise TableError(f"The folder {path} holds no release.", remedy="Name the file, or a folder that release wrote.")


def certificate_beside(release: object) -> Certificate | None:
    """The certificate of this very file, if it lies in the same folder."""
    release = release_file(Path(release)) if isinstance(release, str | Path) else release
    if not isinstance(release, Path) or not (release.parent / CERTIFICATE_NAME).exists():
        return None
    try:
        certificate = Certificate.model_validate_json((release.parent / CERTIFICATE_NAME).read_bytes())
    except (ValidationError, OSError):
        raise TableError(
            f"The certificate beside {release} cannot be read, so it does not say whether rows belong together.",
            remedy="Say it yourself: --aligned or --not-aligned (Python: row_aligned).",
        ) from None
    return certificate if certificate.release is not None and certificate.release.file == release.name else None


def plan_in_force(plan: Plan, certificate: Certificate) -> Plan:
    """The plan with the settings that the release was made with, if it was made by this one."""
    settings = certificate.settings
    changed = planned(plan, method=certificate.method, epsilon=settings.epsilon, k=settings.k)
    for each in (plan, changed):
        if each.sha256() == certificate.plan.sha256:
            return each
    raise PlanError(
        "The release was made by another plan than this one.",
        remedy="Name the plan of the release: its fingerprint stands on the certificate (plan.sha256).",
    )


def with_columns(table: Table, schema: Schema) -> Table:
    absent = [name for name in schema.names if name not in table.schema.names]
    if absent:
        raise TableError(
            f"The table {table.name} lacks {len(absent)} column(s) of the plan, {absent[0]!r} among them.",
            remedy="Evaluate a release against the table and the plan it was made from.",
        )
    return table
