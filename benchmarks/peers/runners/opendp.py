"""OpenDP's synthesis: MST under pure ε or zCDP, AIM under zCDP. Neighbours: one record added or removed.

All columns come as labels (recoding.py); a label may come out missing, which `runner` repairs. Its AIM is asked for
tables of up to two columns, as smartnoise's and dpmm's are by default (its own default is three): no measure here looks
at more.

Its MST adds up the shares of its selections in floats, rounding up, and often refuses a sum that is a last digit too
large ("insufficient budget for query: 0.04999999999999998 > 0.049999999999999975"). `split_that_adds_up` finds the
split nearest to its default of 0.9 for which the sum comes out. It reads the budget and the number of columns only.
"""

import math
from fractions import Fraction

import opendp.prelude as dp
import polars as pl
from runner import main, rho_of


def split_that_adds_up(budget, columns):
    def prior(value):
        return math.nextafter(value, -math.inf)

    def fits(split):
        tables = prior(prior(budget - budget * 0.5))
        selecting = prior(prior(tables - tables * split))
        share, spent = prior(selecting / (columns - 1)), 0.0
        for _ in range(columns - 1):
            exact = Fraction(spent) + Fraction(share)
            spent = float(exact) if Fraction(float(exact)) >= exact else math.nextafter(float(exact), math.inf)
        return spent <= selecting

    nearest = (0.9 + sign * step * 1e-5 for step in range(9999) for sign in (-1, 1))
    return next(split for split in nearest if fits(split))


def release(frame, request):
    # user: begin
    dp.enable_features("contrib")
    pure = request.variant == "MST, pure ε"
    budget = request.epsilon if pure else rho_of(request.epsilon, request.delta)
    context = dp.Context.compositor(
        data=pl.LazyFrame(frame.to_dict("list")),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=budget) if pure else dp.loss_of(rho=budget),
        split_by_weights=[1],
    )
    keys = {c["name"]: c["labels"] for c in request.columns}
    if request.variant == "AIM":
        algorithm = dp.mbi.AIM(queries=2)
    else:
        algorithm = dp.mbi.MST(measure_split=split_that_adds_up(budget, len(keys)))
    table = context.query().contingency_table(keys=keys, algorithm=algorithm).release()
    return table.synthesize(rows=len(frame)).to_pandas()
    # user: end


main(release, "opendp")
