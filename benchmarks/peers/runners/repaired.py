"""Another runner with rows drawn by `shared/mbi_sampler.py` instead of by mbi 1.1.0; the fitted model is the same.

    python -P repaired.py RUNNER REQUEST

A file of its own, so that the runner that is measured as installed stays as it was.
"""

import runpy
import sys

import mbi_sampler

mbi_sampler.install()
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
