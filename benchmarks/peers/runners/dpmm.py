"""dpmm: MST, AIM and PrivBayes, (ε, δ). Neighbours: one record added or removed.

Numbers that come as numbers are binned its own way, by PrivTree inside the public bounds. Its budget for bins comes on
top of the model's: its defaults are 0.1 and 1, so of the total they get 1/11 and 10/11. Where all columns come as
labels (recoding.py) the model gets the whole. AIM's limit of 80 MB is the one its authors ask for in comparisons.
"""

from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline
from runner import main


def release(frame, request):
    # user: begin
    pipelines = {"MST": MSTPipeline, "AIM": AIMPipeline, "PrivBayes": PrivBayesPipeline}
    domain = {
        c["name"]: {"categories": c["labels"]}
        if c["kind"] == "category"
        else {"lower": c["lower"], "upper": c["upper"]}
        for c in request.columns
    }
    for_bins = request.epsilon / 11 if request.numbers else None
    pipeline = pipelines[request.variant](
        epsilon=request.epsilon - (for_bins or 0.0),
        delta=request.delta,
        proc_epsilon=for_bins,
        max_model_size=80 if request.variant == "AIM" else None,
        n_jobs=1,
    )
    pipeline.fit(frame, domain, random_state=request.seed)
    return pipeline.generate(n_records=len(frame), random_state=request.seed)
    # user: end


main(release, "dpmm")
