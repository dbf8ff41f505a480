"""Values of one model, made for the first time by many threads at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pydantic
import pytest

from ironcurtain.system.frozen import Frozen, is_integer, is_number

THREADS = 16


def test_the_first_values_of_a_model_are_checked_whatever_thread_makes_them() -> None:
    for _ in range(20):

        class Inner(Frozen):
            name: str

        class Outer(Frozen):
            inner: tuple[Inner, ...]

        together = threading.Barrier(THREADS)

        def make(number: int, model: type[Outer] = Outer, start: threading.Barrier = together) -> Outer:
            start.wait(30)
            return model.model_validate({"inner": ({"name": str(number)},)})

        with ThreadPoolExecutor(THREADS) as pool:
            made = list(pool.map(make, range(THREADS)))
        assert [each.inner[0].name for each in made] == [str(number) for number in range(THREADS)]
        with pytest.raises(pydantic.ValidationError, match="Extra inputs"):
            Outer.model_validate({"inner": (), "more": 1})


@pytest.mark.parametrize(
    ("value", "kinds"),
    [(1, "number integer"), (1.0, "number"), (True, ""), (False, ""), ("1", ""), (None, ""), ([], "")],
)
def test_true_and_false_are_no_numbers(value: object, kinds: str) -> None:
    assert is_number(value) is ("number" in kinds)
    assert is_integer(value) is ("integer" in kinds)
