"""What a plan means before a release: the price of every column, and its noise in terms people use.

Of a table, the number of rows is read at most, which is public. Whatever is said holds for every table with that many.

looked.py         all of it in order: `preview`
reach.py          how far noise of a given law reaches
expectations.py   how much of it lies on a count, a mean, a single value
intervals.py      how wide intervals of estimates will be, as far as that tells
noise_alone.py    pure ε or (ε, δ): what the planned noise moves, both ways
"""

from rankveil._lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rankveil.preview.expectations import Expectation
    from rankveil.preview.intervals import ExpectedInterval
    from rankveil.preview.looked import Part, Preview, PreviewLine, preview
    from rankveil.preview.noise_alone import Choice

__all__ = ["Choice", "Expectation", "ExpectedInterval", "Part", "Preview", "PreviewLine", "preview"]

__getattr__, __dir__ = lazily(
    __name__,
    expectations="Expectation",
    intervals="ExpectedInterval",
    looked="Part Preview PreviewLine preview",
    noise_alone="Choice",
)
