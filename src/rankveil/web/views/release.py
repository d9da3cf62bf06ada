"""Budget, the release itself, its progress, its end.

Nothing is spent twice: the form carries the id the release will have. The id is on the disk before the form is shown,
the same for every tab, and becomes a job once.
"""

from __future__ import annotations

import os
from typing import Literal

from starlette.responses import Response

from rankveil import rules
from rankveil.consent import check_consent, weak
from rankveil.declare import Plan
from rankveil.errors import PlanError, RankveilError, SigningError
from rankveil.ledger import default_ledger_path
from rankveil.meaning import in_words, needs_words
from rankveil.methods import method_named
from rankveil.sign.keys import PASSPHRASE, beside_ledger, is_encrypted
from rankveil.web import jobs
from rankveil.web.budget import BudgetView, budget_view, set_cap
from rankveil.web.columns import guesses_left
from rankveil.web.guard import secret
from rankveil.web.home import StaleError, State, Working
from rankveil.web.site import Ask
from rankveil.web.tables import table_of

REPLICATES = 80  # as official surveys publish them


def release_page(ask: Ask) -> Response:
    state = _with_fresh_id(ask.working)
    plan = ask.working.plan(state)
    budget, trouble = _budget(ask)
    method, epsilon, delta = method_named(plan.release.method), plan.release.epsilon, plan.release.delta
    filled_in = ask.request.query_params if ask.refused_form is None else ask.refused_form.values
    return ask.step(
        "release.html.jinja",
        "release",
        error=None if ask.refused_form is None else ask.refused_form.error,
        plan=plan,
        plan_sha256=plan.sha256(),
        method=method,
        large=in_words(epsilon, delta) if method.differentially_private and needs_words(epsilon, delta) else None,
        needs_consent=weak(plan, method),
        budget=budget,
        trouble=trouble,
        guesses_left=guesses_left(plan),
        made=[(job, job.status()) for job in jobs.releases_of(ask.working)],
        out=None if ask.site.out is None else jobs.folder_in(ask.site.out, state.next_release),
        ledger=ask.site.ledger,
        offered=REPLICATES if _has_replicates(plan, state) else None,
        replicates=_replicates(filled_in.get("replicates", ""), plan, state),
        signature=_signature(ask),
    )


def _with_fresh_id(working: Working) -> State:
    """A server that was killed right after starting a release has not had the time to choose the next id."""
    state = working.read()
    if jobs.job_named(working, state.next_release) is None:
        return state
    with working.changing() as state:
        if jobs.job_named(working, state.next_release) is not None:
            state.next_release = secret(8)
    return state


def _has_replicates(plan: Plan, state: State) -> bool:
    able = method_named(plan.release.method).has_replicates
    return able and (state.rows is None or state.rows <= rules.MOST_REPLICATED_ROWS)


def _replicates(asked: object, plan: Plan, state: State) -> int | None:
    return REPLICATES if asked == str(REPLICATES) and _has_replicates(plan, state) else None


def _signature(ask: Ask) -> Literal["none", "key", "locked"]:
    """Whether a key lies beside the ledger, and whether a release could open it. It is not opened here."""
    path = beside_ledger(ask.site.ledger or default_ledger_path())
    try:
        locked = path.exists() and is_encrypted(path) and not os.environ.get(PASSPHRASE)
    except SigningError:
        return "key"  # the release will say what is wrong with it, before anything is spent
    return "locked" if locked else "key" if path.exists() else "none"


def _budget(ask: Ask) -> tuple[BudgetView | None, RankveilError | None]:
    try:
        return budget_view(ask.working, ask.site.ledger), None
    except RankveilError as error:
        return None, error


def begin(ask: Ask) -> Response:
    job_id = ask.text("release_id")
    if jobs.job_named(ask.working, job_id) is None:
        try:
            _start(ask, job_id)
        except RankveilError as error:
            return ask.again(f"{ask.here}/release", error, {"replicates": ask.text("replicates")})
    return ask.go(f"{ask.here}/releases/{job_id}")


def _start(ask: Ask, job_id: str) -> None:
    working = ask.working
    consent = {key: ask.text(key) == "on" for key in ("accept_no_guarantee", "accept_large_epsilon")}
    with working.changing() as state:
        if jobs.job_named(working, job_id) is not None:
            return  # another tab was quicker; its release is this one
        plan = working.plan(state)
        if job_id != state.next_release or any(job.status().running for job in jobs.releases_of(working)):
            raise StaleError(
                "Another release of this table was started from this page in the meantime.",
                remedy="Look at it below. If you want a further release, start it from this page as it is now.",
            )
        _refuse_if_stale(ask, plan)
        check_consent(plan, **consent)
        table_of(state)
        if not plan.columns:
            raise PlanError("The plan has no columns.", remedy="Open the table again.")
        spec = jobs.release_spec(
            working,
            plan,
            job_id,
            out=ask.site.out,
            ledger=ask.site.ledger,
            consent=consent,
            replicates=_replicates(ask.text("replicates"), plan, state),
        )
        jobs.start(working, job_id, plan, spec)
        state.next_release = secret(8)


def _refuse_if_stale(ask: Ask, plan: Plan) -> None:
    if plan.sha256() != ask.text("plan_sha256"):
        raise StaleError(
            "The plan was changed in another tab after this page was shown.",
            remedy="Below is what would be released now. Go on if that is right.",
        )


def save_cap(ask: Ask) -> Response:
    """Set what the table, or its population, may spend in all: once, and only if the form says so."""
    try:
        _refuse_if_stale(ask, ask.working.plan())
        if ask.text("set_once") != "on":
            raise PlanError("A cap is set once and stays.", remedy="Tick the box that says so, or set no cap.")
        set_cap(ask.working, ask.site.ledger, ask.text("cap_epsilon"), ask.text("cap_delta"))
    except RankveilError as error:
        return ask.again(f"{ask.here}/release", error)
    return ask.go(f"{ask.here}/release")


def progress(ask: Ask) -> Response:
    """The part of the page that is asked for every second; when the job has ended, the whole page is."""
    job, status = ask.job, ask.job.status()
    if not status.running:
        return Response(status_code=204, headers={"hx-refresh": "true"})
    return ask.page("progress.html.jinja", here=ask.here, job=job, spec=job.spec, status=status)


def cancel(ask: Ask) -> Response:
    ask.job.cancel()
    if ask.job.spec.kind in ("compare", "attack"):
        return ask.go(f"{ask.here}/method/{ask.job.spec.kind}")
    shown = ask.text("shown_on")
    return ask.go(f"{ask.here}/releases/{shown if jobs.JOB_ID.fullmatch(shown) else ask.job.id}")
