"""DataSynthesizer's correlated attribute mode (PrivBayes), pure ε. Neighbours: one record replaced.

All columns come as labels (recoding.py), which it is given in its domain file. Without k it takes up to six parents for
a table of 13 columns, whatever ε is, and does not come to an end; two parents are what PrivBayes is mostly used with.
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
    labels = {c["name"]: c["labels"] for c in request.columns}
    domains.write_text(json.dumps(labels))
    describer = DataDescriber()
    describer.describe_dataset_in_correlated_attribute_mode(
        request.table,
        epsilon=request.epsilon,
        k=2,
        attribute_to_datatype=dict.fromkeys(labels, "String"),
        attribute_to_is_categorical=dict.fromkeys(labels, True),
        attribute_to_is_candidate_key=dict.fromkeys(labels, False),
        categorical_attribute_domain_file=str(domains),
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
