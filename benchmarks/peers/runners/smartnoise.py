"""smartnoise-synth: MST and AIM, (ε, δ). Neighbours: one record added or removed.

All columns come as labels (recoding.py). Its transformers are fitted on the public lists of them, not on the data, so
they cost nothing and leak nothing.
"""

import pandas as pd
from runner import main
from snsynth import Synthesizer
from snsynth.transform import LabelTransformer, TableTransformer


def release(frame, request):
    # user: begin
    public = {c["name"]: c["labels"] for c in request.columns}
    height = max(len(values) for values in public.values())
    domain = pd.DataFrame({name: [values[i % len(values)] for i in range(height)] for name, values in public.items()})
    transformer = TableTransformer([LabelTransformer(nullable=False) for _ in public])
    transformer.fit(domain)
    synthesizer = Synthesizer.create(request.variant.lower(), epsilon=request.epsilon, delta=request.delta)
    synthesizer.fit(frame, transformer=transformer)
    return pd.DataFrame(synthesizer.sample(len(frame)), columns=frame.columns)
    # user: end


main(release, "smartnoise-synth")
