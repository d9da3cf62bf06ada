"""OpenDP's synthesis: MST under pure ε or zCDP, AIM under zCDP. Neighbours: one record added or removed.

All columns come as labels (recoding.py); a label may come out missing, which `runner` repairs. Its AIM is asked for
tables of up to two columns, as smartnoise's and dpmm's are by default (its own default is three): no measure here looks
at more.

Its MST adds up shares of the budget in floats, rounding up, and then refuses a sum that is a last digit too large
("insufficient budget for query: 0.04999999999999998 > 0.049999999999999975"). `within_rounding` finds a slightly
smaller budget that gets through, if there is one. It reads ε and the number of columns only. Under zCDP further sums
are rounded, so a refused budget is tried again, up to nine times, each time a ten-thousandth smaller.
"""

import math
from fractions import Fraction

import opendp.prelude as dp
import polars as pl
from opendp.mod import OpenDPException
from runner import main, rho_of


def within_rounding(budget, columns):
    def prior(value):
        return math.nextafter(value, -math.inf)

    for step in range(2000):
        total = budget * (1 - step * 5e-6)
        tables = prior(prior(total - total * 0.5))
        selecting = prior(prior(tables - tables * 0.9))
        share, spent = prior(selecting / (columns - 1)), 0.0
        for _ in range(columns - 1):
            exact = Fraction(spent) + Fraction(share)
            spent = float(exact) if Fraction(float(exact)) >= exact else math.nextafter(float(exact), math.inf)
        if spent <= selecting:
            return total
    return budget


def release(frame, request):
    asked = request.epsilon, rho_of(request.epsilon, request.delta)
    step = 0
    while True:
        try:
            return released_within(frame, request, *(budget * (1 - step * 1e-4) for budget in asked))
        except OpenDPException as error:
            step += 1
            if "insufficient budget" not in str(error) or step == 10:
                raise


def released_within(frame, request, epsilon, rho):
    # user: begin
    if request.variant != "AIM":
        epsilon, rho = (within_rounding(budget, len(request.columns)) for budget in (epsilon, rho))
    dp.enable_features("contrib")
    pure = request.variant == "MST, pure ε"
    loss = dp.loss_of(epsilon=epsilon) if pure else dp.loss_of(rho=rho)
    context = dp.Context.compositor(
        data=pl.LazyFrame(frame.to_dict("list")),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=loss,
        split_by_weights=[1],
    )
    keys = {c["name"]: c["labels"] for c in request.columns}
    algorithm = dp.mbi.AIM(queries=2) if request.variant == "AIM" else dp.mbi.MST()
    table = context.query().contingency_table(keys=keys, algorithm=algorithm).release()
    return table.synthesize(rows=len(frame)).to_pandas()
    # user: end


main(release, "opendp")
