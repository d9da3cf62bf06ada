"""smartnoise-synth: MST and AIM, (ε, δ). Neighbours: one record added or removed.

Its transformers are fitted on the public description, not on the data, so they cost nothing and leak nothing. Its
BinTransformer gives the middle of a bin; values are drawn from the whole bin, as for everyone.
"""

import pandas as pd
from runner import BINS, edges, main
from snsynth import Synthesizer
from snsynth.transform import BinTransformer, LabelTransformer, TableTransformer


def release(frame, request):
    # user: begin
    public = {c["name"]: c["labels"] if c in request.labels else [c["lower"], c["upper"]] for c in request.columns}
    height = max(len(values) for values in public.values())
    domain = pd.DataFrame({name: [values[i % len(values)] for i in range(height)] for name, values in public.items()})
    transformers = [
        LabelTransformer(nullable=False)
        if column["kind"] == "category"
        else BinTransformer(bins=len(edges(column)) - 1, lower=column["lower"], upper=column["upper"])
        for column in request.columns
    ]
    transformer = TableTransformer(transformers)
    transformer.fit(domain)
    synthesizer = Synthesizer.create(request.variant.lower(), epsilon=request.epsilon, delta=request.delta)
    synthesizer.fit(frame, transformer=transformer)
    released = synthesizer.sample(len(frame))
    released = pd.DataFrame(released, columns=frame.columns)
    for column in request.numbers:
        middle = released[column["name"]].astype(float)
        width = (column["upper"] - column["lower"]) / (len(edges(column)) - 1)
        if len(edges(column)) - 1 < BINS:  # one bin per value: the k-th bin is the k-th value
            released[column["name"]] = column["lower"] + ((middle - column["lower"]) // width)
        else:
            released[column["name"]] = middle + request.rng.uniform(-width / 2, width / 2, len(middle))
    # user: end
    return released


main(release, "smartnoise-synth")
