"""All attacks on one release.

PRIVACY: everything here reads the table without noise, and releases that are made on the way are never published nor
written: no ledger knows of them, and their source of randomness is not one for releases. Results are internal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

from rankveil.certificate import Certificate
from rankveil.consent import check_consent
from rankveil.declare import Plan, Records, declare, encode
from rankveil.engines import open_table
from rankveil.errors import PlanError, TableError
from rankveil.evaluate.evaluation import certificate_beside, plan_in_force, release_file, with_columns
from rankveil.methods import Method
from rankveil.noise import Sampler, SeededSource
from rankveil.risk.criteria import inference, linkability, singling_out
from rankveil.risk.distances import Space
from rankveil.risk.limits import Limits
from rankveil.risk.nearest import nearest_records
from rankveil.risk.parts import Held, Sides, released_in_memory, sides, split
from rankveil.risk.results import AttackRisk, Membership, Risk
from rankveil.risk.rows import of_rows
from rankveil.risk.shadows import membership

TARGETS = 1000
CONTROL_SHARE = 0.2
SHADOWS = 400
SHADOW_ROWS = 200
MOST_TARGETS = 20_000
_PUBLIC = (
    " Public columns are known to everyone: they help to infer others, and else they are left out. Where people differ"
    " in them, ε sets no limit on what is found about one beside the other."
)

Progress = Callable[[str], None]


def risk(
    table: object,
    release: object,
    plan: Plan | str | Path,
    *,
    held_out: object = None,
    control_share: float | None = None,
    targets: int = TARGETS,
    shadows: int = SHADOWS,
    shadow_rows: int = SHADOW_ROWS,
    seed: int = 0,
    progress: Progress = lambda stage: None,
) -> Risk:
    """Attack `release`, which was made of `table` by `plan`, and compare people in the table with people who are not.

    `release` is a table, or the folder of a release. People who are not in it are those of `held_out`, records from the
    same source that were not released: then the file itself is attacked. Without them a part of the table, by default a
    fifth (`control_share`), is set aside, the rest is released again for this test, and that release is attacked: it
    tests the method on this table, not the file. What needs nobody else (rows that belong to records) is always tested
    on the file. At most `targets` records of each side are attacked. `shadows` releases of `shadow_rows` rows are made
    for membership inference; 0 leaves it out. The same `seed` gives the same result. It is internal.

        >>> made = rv.release(people[:400], plan)
        >>> rv.risk(people[:400], made.table, plan, held_out=people[400:], shadows=0).differentially_private
        True
    """
    plan = plan if isinstance(plan, Plan) else Plan.load(plan)
    _check(targets, control_share, held_out, shadows, shadow_rows, seed)
    release = release_file(Path(release)) if isinstance(release, str | Path) else release
    certificate = certificate_beside(release)
    plan = plan if certificate is None else plan_in_force(plan, certificate)
    method = check_consent(plan, accept_no_guarantee=True, accept_large_epsilon=True)
    progress("reading the table and the release")
    given = _read(table, release, plan)
    sampler = Sampler(SeededSource(seed))
    limits = None
    if method.uses_budget:  # of a published method, what the ε that its paper claims would allow
        budget = Fraction(plan.release.epsilon), Fraction(plan.release.delta or 0)
        limits = Limits.of_replaced(*budget, plan.unit)

    on, tested = _sides(given, plan, held_out, control_share, targets, seed, sampler, progress)
    whole, on = on, on.protected
    space = Space(on.released.schema, on.released, on.members, on.others)
    # Neighbours agree on public columns, and others differ from members there: no theorem compares them.
    public = len(on.released.schema.columns) < len(given.held.schema.columns)
    tested += _PUBLIC if public else ""
    beside = None if public else limits
    progress("singling out")
    attacks = list(singling_out(on, targets, beside, sampler))
    skipped = _aligned(given, method, certificate, attacks, targets, limits, sampler, progress)
    if space.count > 1:
        progress("linking halves of records")
        attacks.append(linkability(on, space, beside, sampler))
    else:
        skipped["linkability"] = "one column is protected"
    if len(given.held.schema.columns) > 1:
        progress("guessing columns from all others")
        all_columns = Space(given.held.schema, whole.released, whole.members, whole.others) if public else space
        attacks += inference(whole, all_columns, beside, sampler)
    else:
        skipped["inference"] = "the release has one column"
    progress("looking for the nearest records")
    nearest = nearest_records(on, space, beside, sampler)
    return Risk(
        method=method.name,
        differentially_private=method.differentially_private,
        epsilon=float(plan.release.epsilon) if method.uses_budget else None,
        delta=float(plan.release.delta or 0),
        protects=plan.unit.who,
        tested=tested,
        members=on.count,
        others=on.count,
        attacks=tuple(attacks),
        nearest=nearest,
        membership=_membership(given.held, plan, shadows, shadow_rows, seed, skipped, progress),
        seed=seed,
        skipped=skipped,
    )


@dataclass(frozen=True)
class _Given:
    held: Held
    original: Records
    released: Records


def _check(targets: int, share: float | None, held_out: object, shadows: int, shadow_rows: int, seed: int) -> None:
    limits = [
        (30 <= targets <= MOST_TARGETS, f"{targets} targets are asked for.", f"Attack 30 to {MOST_TARGETS:,}."),
        (share is None or 0 < share <= 0.5, "The control share is not between 0 and 1/2.", "0.2 is common."),
        (share is None or held_out is None, "Held-out records and a control share are given.", "Give one of them."),
        (shadows == 0 or 40 <= shadows <= 100_000, f"{shadows} shadow releases are asked for.", "40 at least, or 0."),
        (20 <= shadow_rows <= 10_000, f"{shadow_rows} rows of a shadow release are asked for.", "20 to 10,000."),
        (0 <= seed < 1 << 32, "The seed is negative or too large.", "Any number below 2^32 will do."),
    ]
    for holds, problem, remedy in limits:
        if not holds:
            raise PlanError(problem, remedy=remedy, cost="")


def _read(table: object, release: object, plan: Plan) -> _Given:
    held = _held(table, plan)
    opened = open_table(release, separator=plan.table.separator).unescaped(held.schema.names)
    released = encode(with_columns(opened, held.schema), held.schema, released=True)
    return _Given(held, held.records(), released)


def _held(table: object, plan: Plan) -> Held:
    opened = open_table(table, separator=plan.table.separator, encoding=plan.table.encoding)
    known = declare(plan, opened)
    person = plan.unit.person
    names = [*known.names, *([] if person is None else [person])]
    held = Held(pa.Table.from_batches(list(opened.batches(names))), known)
    encode(open_table(held.rows), known)  # refuses what does not fit the plan
    return held


def _sides(
    given: _Given,
    plan: Plan,
    held_out: object,
    control_share: float | None,
    targets: int,
    seed: int,
    sampler: Sampler,
    progress: Progress,
) -> tuple[Sides, str]:
    """Who is attacked, and on what."""
    held = given.held
    if held_out is not None:
        others = _held(held_out, plan)
        if _same(others.records(), given.original):
            raise TableError(
                "The held-out records are those of the table.", remedy="Give records that were not released.", cost=""
            )
        on = sides(given.released, held, others, targets, sampler, on_file=True)
        return on, "The released file itself, against held-out records that were given."
    share = CONTROL_SHARE if control_share is None else control_share
    inside, outside = split(held.units(), share, sampler)
    members, others = held.some(inside), held.some(outside)
    progress("releasing a part of the table for this test")
    drawn = released_in_memory(members, plan, SeededSource(seed + (1 << 40)))
    on = sides(drawn, members, others, targets, sampler, on_file=False)
    return on, (
        f"The method on this table, not the released file: {len(outside):,} of its {held.rows.num_rows:,} rows were set"
        " aside, and the rest was released again for this test, from a fixed seed. Give records that were not released"
        " (--held-out) to test the file itself."
    )


def _same(one: Records, other: Records) -> bool:
    same = (np.array_equal(one.codes[name], other.codes[name]) for name in one.codes)
    return one.row_count == other.row_count and all(same)


def _aligned(
    given: _Given,
    method: Method,
    certificate: Certificate | None,
    attacks: list[AttackRisk],
    targets: int,
    limits: Limits | None,
    sampler: Sampler,
    progress: Progress,
) -> dict[str, str]:
    """Attacks on rows that belong to records, on the file itself; or why there are none."""
    if not (method if certificate is None else certificate).row_aligned:
        return {"own rows and equal rows": "rows of the release belong to nobody"}
    if given.released.row_count != given.original.row_count:
        raise TableError(
            f"The release has {given.released.row_count} rows and the table {given.original.row_count}, but its rows"
            " are said to belong together.",
            remedy="Name the table that was released.",
            cost="",
        )
    progress("looking at rows of the release")
    attacks += of_rows(given.original, given.released, targets, limits, sampler)
    return {}


def _membership(
    held: Held, plan: Plan, shadows: int, rows: int, seed: int, skipped: dict[str, str], progress: Progress
) -> Membership | None:
    if shadows == 0:
        skipped["membership"] = "not asked for"
        return None
    progress("membership")

    def told(done: int, of: int) -> None:
        if done % 20 == 0:
            progress(f"membership: {done} of {of} releases")

    found = membership(held, plan, releases=shadows, rows=rows, seed=seed, told=told)
    if found is None:
        skipped["membership"] = "nobody's protected values obey the rules beside the public ones of the exposed person"
    return found
