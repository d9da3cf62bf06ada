"""The release file and its certificate, whole or not at all.

decode.py   released codes as Arrow values
ahead.py    batches made by several threads and handed on in order, a few at a time
files.py    batches as the bytes of a file of any format, and their fingerprint
folder.py   the folder a release goes to, as one file or in parts
spread.py   parts written side by side by many workers
publish.py  all of this as an engine sees fit: here or by many workers
swap.py     a release with its certificate, model and weights takes the place of others in one step
weights.py  replicate weights of the rows, in a file of their own
small.py    small files (plans, results), whole or not at all
"""

from rankveil.write.ahead import as_arrow
from rankveil.write.files import FileFormat, Said, Written, released_columns, said_by, write_rows
from rankveil.write.folder import OutputFolder, fingerprints, write_folder
from rankveil.write.publish import publish_files, publish_frame
from rankveil.write.small import rewrite_papers, write_bytes, write_text
from rankveil.write.swap import (
    CERTIFICATE_NAME,
    MANIFEST_NAME,
    MODEL_NAME,
    PAGE_NAME,
    PAPER_NAMES,
    RELEASE_NAMES,
    SIGNATURE_NAME,
    recover,
)
from rankveil.write.weights import WEIGHTS, weights_table, write_weights

__all__ = [
    "CERTIFICATE_NAME",
    "MANIFEST_NAME",
    "MODEL_NAME",
    "PAGE_NAME",
    "PAPER_NAMES",
    "RELEASE_NAMES",
    "SIGNATURE_NAME",
    "WEIGHTS",
    "FileFormat",
    "OutputFolder",
    "Said",
    "Written",
    "as_arrow",
    "fingerprints",
    "publish_files",
    "publish_frame",
    "recover",
    "released_columns",
    "rewrite_papers",
    "said_by",
    "weights_table",
    "write_bytes",
    "write_folder",
    "write_rows",
    "write_text",
    "write_weights",
]
