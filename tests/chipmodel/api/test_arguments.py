"""Arguments of a wrong kind leave as BadInput, whatever they broke inside."""

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, get_type_hints

import pytest

import chipmodel as cm
from chipmodel.api.arguments import checked

TINY = "zoo:ds_cnn"
api: Any = cm
pd: Any = import_module("pandas")
WRONG: dict[str, tuple[Callable[[], object], str, str]] = {
    "workload": (lambda: api.simulate(3), "workload is 3|source is 3", "takes str, Path"),
    "packer": (lambda: api.simulate(TINY, packer=["exact"]), "packer is a list", "packer takes str"),
    "limit": (lambda: api.plan(TINY, time_limit="5"), "time_limit is '5'", "takes float, TimeLimit, None"),
    "option": (
        lambda: api.simulate(TINY, streamr="exact"),
        "no argument 'streamr'",
        "did you mean 'streamer'",
    ),
    "keyword": (lambda: api.pack([], capcity=3), "no argument 'capcity'", "did you mean 'capacity'"),
    "missing": (lambda: api.diff(), "missing a required argument", "call diff"),
    "diff": (lambda: api.diff(3, 4), "a is 3", "Simulation"),
    "unused": (lambda: api.compare(TINY, packers=["large-first"], merge=["none"]), "merge is a list", "str"),
    "unknown": (lambda: api.compare(TINY, packers=["exact"], merge="exat"), "merge", "unified-block"),
    "names": (lambda: api.compare(TINY, packers=[1]), "packers is a list", "packers takes 'all', Iterable"),
    "switch": (lambda: api.plan(TINY, spill="no"), "spill is 'no'", "spill takes bool"),
    "ignored": (lambda: api.simulate(TINY, samples="9"), "samples is '9'", "samples takes int"),
    "recompute": (lambda: api.simulate(TINY, recompute=float("inf")), "recompute is inf", "1 to 1,000,000"),
    "sample": (lambda: api.simulate(TINY, samples=-1), "samples is -1", "16 to 1,000,000"),
    "seed": (lambda: api.simulate(TINY, seed=-1), "seed is -1", "0 or more"),
    "capacity": (lambda: api.pack([("a", 0, 1, 8)], capacity=-1), "size -1 is negative", "384 KiB"),
    "endless": (lambda: api.plan(TINY, time_limit=float("inf")), "time_limit is inf", "None for no limit"),
    "huge": (lambda: api.simulate(TINY, time_limit=10**400), "an integer of 1329 bits", "10,000,000 seconds"),
    "chip": (lambda: api.simulate(TINY, "x" * 300), "no chip is named", "presets are"),
    "measured": (lambda: api.explain(TINY, "gap9", measured=0.0), "measured is 0.0", "such as 3.6s"),
    "buffers": (lambda: api.pack(pd.DataFrame({"id": ["a"]})), "DataFrame", "to_dict"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_kind_is_bad_input(wrong: str) -> None:
    call, what, hint = WRONG[wrong]
    with pytest.raises(cm.BadInput, match=what) as raised:
        call()
    assert hint in raised.value.hint


def test_values_of_numpy_are_numbers_and_switches() -> None:
    numpy: Any = import_module("numpy")
    found = api.plan(TINY, "gap9", spill=numpy.bool_(True), time_limit=numpy.float64(30))
    assert found.fits


def test_a_fault_of_ours_stays_what_it_is() -> None:
    @checked
    def broken(number: int) -> None:
        raise TypeError(number)

    with pytest.raises(TypeError, match="1"):
        broken(1)


def test_any_iterable_of_rows_is_packed() -> None:
    assert api.pack(row for row in [("a", 0, 1, 8), ("b", 0, 1, 8)]).peak_bytes == 16


def test_every_hint_can_be_looked_up() -> None:
    """A message needs the types of all arguments, which may be known to type checkers only."""
    for name in cm.__all__:
        function = getattr(cm, name)
        if inspect.isfunction(function) and hasattr(function, "__wrapped__"):
            assert get_type_hints(inspect.unwrap(function))


def test_two_plans_are_no_results() -> None:
    plan = cm.plan(TINY, "gap9")
    with pytest.raises(cm.BadInput, match="a is"):
        api.diff(plan, plan)


def test_sizes_of_buffers_have_units() -> None:
    assert cm.pack([("a", 0, 1, "4KiB"), ("b", 1, 2, 4096)], capacity="8KiB").peak_bytes == 4096


def test_the_library_lists_what_it_offers_only() -> None:
    assert {name for name in dir(cm) if not name.startswith("__")} == set(cm.__all__)


def test_a_bad_size_names_its_row() -> None:
    with pytest.raises(cm.BadInput, match=r"buffers:3:.*4Kjb"):
        cm.pack([("a", 0, 2, "4KiB"), ("b", 1, 3, "4Kjb")])
