"""What a person has to agree to before a release, and what a plan may not ask of a method. Reads no data."""

from __future__ import annotations

from rankveil.declare import Plan
from rankveil.declare.unit import A_ROW
from rankveil.errors import GuaranteeError, PlanError
from rankveil.meaning import LARGE_DELTA, NEEDS_CONSENT, beyond, in_words
from rankveil.methods import Method, method_named


def check_consent(plan: Plan, *, accept_no_guarantee: bool, accept_large_epsilon: bool = False) -> Method:
    """The plan's method, if everything a person has to agree to has been agreed to."""
    method = method_named(plan.release.method)
    refuse_misfit(plan, method)
    if not method.differentially_private and not accept_no_guarantee:
        raise GuaranteeError(
            f"The method {method.name} does not give differential privacy. {method.why_not}",
            remedy="Use it for comparison only, and say so: --accept-no-guarantee (Python: accept_no_guarantee=True)."
            " For a release with a guarantee choose another method: rankveil methods.",
        )
    if weak(plan, method) and not accept_large_epsilon:
        raise GuaranteeError(
            in_words(plan.release.epsilon, plan.release.delta),
            remedy=f"Choose an ε of at most {NEEDS_CONSENT} (1 is common) and a δ of at most {LARGE_DELTA:f} (1e-9 is)."
            " Or say that you mean it, ε or δ: --accept-large-epsilon (Python: accept_large_epsilon=True).",
        )
    if plan.guesses:
        raise GuaranteeError(
            f"The plan holds guesses taken from the data that nobody has confirmed:\n{_listed_guesses(plan)}",
            remedy="Replace each by what is publicly known about the column (not by what the table shows), then delete"
            " the column's line `unconfirmed = [...]` (and that of [table]). Python: plan.confirm(...) for a column,"
            " plan.confirm() for all that is left.",
        )
    return method


def goes_with(plan: Plan, method: Method) -> bool:
    """Whether the plan asks for nothing that this method does not do; a δ aside, which a comparison leaves out."""
    try:
        refuse_misfit(plan, method, with_delta=False)
    except PlanError:
        return False
    return True


def refuse_misfit(plan: Plan, method: Method, *, with_delta: bool = True) -> None:
    """Refuse a plan that asks for what its method does not do: no release would be made by it."""
    if method.needs_clusters and plan.release.k is None:
        raise PlanError(
            f"The method {method.name} forms clusters and the plan sets no k.",
            remedy="Add k to [release], for example k = 10, or give --k.",
        )
    if with_delta and plan.release.delta is not None and not method.uses_delta:
        raise PlanError(
            f"The method {method.name} is not made for a delta.",
            remedy="Remove delta from [release]: what the method gives holds without it.",
        )
    unbounded = [name for name, entry in plan.columns.items() if getattr(entry, "bounds", "public") == "private"]
    if unbounded and not method.finds_bounds:
        raise PlanError(
            f"The method {method.name} cannot find private bounds, which column {unbounded[0]!r} asks for.",
            remedy="Give the column public limits (lower and upper), or use the method synthetic or aligned.",
        )
    columns = plan.columns.values()
    for asked, entry in (
        (plan.impossible, "impossible"),
        (plan.rule, "rule"),
        (any(column.derived is not None for column in columns), "derived"),
        (any(getattr(column, "special", ()) for column in columns), "special"),
    ):
        if asked and method.name != "synthetic":
            raise PlanError(
                f"The method {method.name} does not keep to `{entry}`.", remedy="Remove its entries, or use synthetic."
            )
    if plan.unit != A_ROW and method.name != "synthetic":
        raise PlanError(
            f"The method {method.name} protects single rows of a table whose size is public, and [privacy] asks for"
            f" {plan.unit.who}.",
            remedy="Remove [privacy], or use synthetic.",
        )
    if plan.unit != A_ROW and any(getattr(entry, "role", "") == "public" for entry in plan.columns.values()):
        raise PlanError(
            "Public columns are released row by row, so that everybody sees how many rows there are; with this"
            " [privacy] nobody may.",
            remedy='Remove role = "public", or [privacy].',
        )
    if plan.interest and method.name != "synthetic":
        raise PlanError(
            f"The method {method.name} does not look at `interest`.", remedy="Remove its entries, or use synthetic."
        )


def weak(plan: Plan, method: Method) -> list[str]:
    """In what the plan's guarantee is so weak that somebody has to say yes to it."""
    return beyond(plan.release.epsilon, plan.release.delta) if method.differentially_private else []


def _listed_guesses(plan: Plan) -> str:
    """All of them; places with the same guesses share a line."""
    places: dict[tuple[str, ...], list[str]] = {}
    for place, entries in plan.guesses.items():
        places.setdefault(entries, []).append(place)
    return "\n".join(f"  {', '.join(named)}: {', '.join(entries)}" for entries, named in places.items())
