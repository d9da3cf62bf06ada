"""Random noise: the only package of rankveil that draws randomness.

Guarantee    Every sampler but `laplace_floats` and `uniform_floats` follows its stated law
             exactly, given uniform bytes. No floating-point number decides an outcome.
Argument     T11: each sampler's module docstring, and the .proof.md beside the longer ones.
Not covered  How much noise a release needs (measure/), whether it may be spent (ledger/),
             and how long a draw takes: timing is not hidden.
Arithmetic   Integers and fractions. A parameter that is rounded is rounded towards more
             noise by a public function (`representable_scale`, `representable_variance`).
"""

from rankveil.noise.bernoulli import bernoulli_exp
from rankveil.noise.continuous import laplace_floats
from rankveil.noise.exponential import exponential_mechanism, permute_and_flip
from rankveil.noise.gaussian import discrete_gaussian, representable_variance
from rankveil.noise.laplace import discrete_laplace, representable_scale
from rankveil.noise.laws import Exponential, PermuteAndFlip, RandomizedResponse, Shuffle, answer_shape
from rankveil.noise.randomized_response import flip_bits
from rankveil.noise.sampling import Sampler
from rankveil.noise.source import Law, RandomSource, SeededSource, SystemSource
from rankveil.noise.streams import KeyedSource, keys
from rankveil.noise.uniform import below, permutation, uint64s, uniform_floats

__all__ = [
    "Exponential",
    "KeyedSource",
    "Law",
    "PermuteAndFlip",
    "RandomSource",
    "RandomizedResponse",
    "Sampler",
    "SeededSource",
    "Shuffle",
    "SystemSource",
    "answer_shape",
    "below",
    "bernoulli_exp",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential_mechanism",
    "flip_bits",
    "keys",
    "laplace_floats",
    "permutation",
    "permute_and_flip",
    "representable_scale",
    "representable_variance",
    "uint64s",
    "uniform_floats",
]
