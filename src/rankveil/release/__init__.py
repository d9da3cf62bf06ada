"""A release, from a table and a plan to protected rows and their certificate (steps.py)."""

from rankveil._lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rankveil.release.steps import Release, fit, release

__all__ = ["Release", "fit", "release"]

__getattr__, __dir__ = lazily(__name__, steps="Release fit release")
