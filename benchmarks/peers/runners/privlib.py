"""privlib: another implementation of the paper's method (individual ranking, k = 50). It claims ε-DP, wrongly.

Numbers get the public bounds; labels are ranked by their frequency in the data, as privlib does it.
"""

from xml.sax.saxutils import quoteattr

from privlib.anonymization.src.algorithms.differential_privacy import Differential_privacy
from privlib.anonymization.src.algorithms.microaggregation import Microaggregation
from privlib.anonymization.src.entities.dataset_DataFrame import Dataset_DataFrame
from runner import main


def release(frame, request):
    settings = request.folder / "settings.xml"
    # user: begin
    entries = [
        f"<attribute name={quoteattr(c['name'])} sensitivity_type='quasi_identifier'"
        + (
            " attribute_type='plain_categorical'/>"
            if c["kind"] == "category"
            else f" attribute_type='numerical_discrete' min_value='{c['lower']}' max_value='{c['upper']}'/>"
        )
        for c in request.columns
    ]
    settings.write_text("<settings>" + "".join(entries) + "</settings>")
    frame.name = "table"
    dataset = Dataset_DataFrame(frame, str(settings))
    scheme = Differential_privacy(dataset, request.k, request.epsilon)
    scheme.calculate_anonymization(Microaggregation())
    return scheme.anonymized_dataset_to_dataframe()
    # user: end


main(release, "privlib")
