"""OpenDP's synthesis: MST under pure ε or zCDP, AIM under zCDP. Neighbours: one record added or removed.

Its `cuts` are the common rule's bins. Its two outer bins have no outer edge (it draws from one unit), so every number
is drawn again from the bin it came in; a label may come out missing, which `runner` repairs.
"""

import opendp.prelude as dp
import polars as pl
from runner import bins_of, drawn_from_bins, edges, main, rho_of


def release(frame, request):
    cuts = {c["name"]: (edges(c)[1:-1] - 1).tolist() for c in request.numbers}
    rho = rho_of(request.epsilon, request.delta)
    # user: begin
    dp.enable_features("contrib")
    pure = request.variant == "MST, pure ε"
    loss = dp.loss_of(epsilon=request.epsilon) if pure else dp.loss_of(rho=rho)
    context = dp.Context.compositor(
        data=pl.LazyFrame(frame.to_dict("list")),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=loss,
        split_by_weights=[1],
    )
    keys = {c["name"]: c["labels"] for c in request.labels}
    algorithm = dp.mbi.AIM() if request.variant == "AIM" else dp.mbi.MST()
    table = context.query().contingency_table(keys=keys, cuts=cuts, algorithm=algorithm).release()
    released = table.synthesize(rows=len(frame))
    # user: end
    released = released.to_pandas()
    for column in request.numbers:
        name = column["name"]
        released[name] = drawn_from_bins(column, bins_of(column, released[name]), request.rng)
    return released


main(release, "opendp")
