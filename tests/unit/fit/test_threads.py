"""A fit runs on one thread and leaves the process as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from rankveil.fit.threads import on_one_thread


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """Before a fit; the tests themselves run on one."""
    with threadpool_limits(limits=2, user_api="blas"):
        yield


def threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_linear_algebra_has_one_thread_while_a_fit_runs_and_its_own_number_afterwards() -> None:
    before = threads()
    if not before:
        pytest.skip("no library of linear algebra whose threads can be counted")
    assert before == {2}

    @on_one_thread
    def work(given: int) -> set[int]:
        return threads() if given else set()

    assert work(1) == {1}
    assert threads() == before


def test_a_fit_that_fails_gives_the_threads_back() -> None:
    before = threads()

    @on_one_thread
    def fails() -> None:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        fails()
    assert threads() == before
