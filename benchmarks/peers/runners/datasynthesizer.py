"""DataSynthesizer's correlated attribute mode (PrivBayes), pure ε. Neighbours: one record replaced.

Numbers: its own histogram, 20 bins inside the public ranges. It is given all labels, in its domain file.
"""

import json

import pandas as pd
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator
from runner import main


def release(frame, request):
    domains = request.folder / "domains.json"
    described = request.folder / "description.json"
    output = request.folder / "synthetic.csv"
    # user: begin
    types = {c["name"]: "String" if c["kind"] == "category" else "Integer" for c in request.columns}
    labels = {c["name"]: c["labels"] for c in request.labels}
    domains.write_text(json.dumps(labels))
    describer = DataDescriber()
    describer.describe_dataset_in_correlated_attribute_mode(
        request.table,
        epsilon=request.epsilon,
        attribute_to_datatype=types,
        attribute_to_is_categorical={name: kind == "String" for name, kind in types.items()},
        attribute_to_is_candidate_key=dict.fromkeys(types, False),
        categorical_attribute_domain_file=str(domains) if labels else None,
        numerical_attribute_ranges={c["name"]: [c["lower"], c["upper"]] for c in request.numbers},
        seed=request.seed,
    )
    describer.save_dataset_description_to_file(described)
    generator = DataGenerator()
    generator.generate_dataset_in_correlated_attribute_mode(len(frame), described, seed=request.seed)
    generator.save_synthetic_data(output)
    return pd.read_csv(output, keep_default_na=False)
    # user: end


if __name__ == "__main__":  # it uses worker processes
    main(release, "DataSynthesizer")
