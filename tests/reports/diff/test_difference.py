"""The shares of a difference add up to it exactly."""

from dataclasses import replace
from fractions import Fraction

from hypothesis import given, strategies as st

from chipmodel.answers.op_totals import OpTotals
from reports.diff.difference import SHARING, RunDifference, compare_results
from reports.result_file import SETTINGS, TOTALS, SavedResult
from reports.words import CAUSES

CAUSE = st.sampled_from(["compute", *CAUSES, "a cause of tomorrow"])
SPENT = st.dictionaries(CAUSE, st.integers(0, 5000), max_size=4)


def _op(name: str, spent: dict[str, int]) -> OpTotals:
    stalls = {cause: cycles for cause, cycles in spent.items() if cause != "compute"}
    return OpTotals(name, "conv", 1, 1, 1, spent.get("compute", 0), stalls, 0, 0)


def answer(
    ops: dict[str, dict[str, int]],
    rest: dict[str, int] | None = None,
    cores: int = 1,
    mhz: Fraction = Fraction(1),
    **settings: str,
) -> SavedResult:
    """A run in which ``ops`` and what is outside of them is all that there is."""
    spent = dict(rest or {})
    for of_op in ops.values():
        for cause, cycles in of_op.items():
            spent[cause] = spent.get(cause, 0) + cycles
    # What is left to a whole number of cycles for every core, as a core that has finished waits.
    spent["finished"] = spent.get("finished", 0) + -sum(spent.values()) % cores
    return SavedResult(
        file="x.json",
        settings=dict.fromkeys(SETTINGS, "s") | settings,
        chip_fields={"psram.clock_mhz": "200"},
        path={},
        core_mhz=mhz,
        cores=cores,
        fits=True,
        totals=dict.fromkeys(TOTALS, 0) | {"total_cycles": sum(spent.values()) // cores},
        spent=spent,
        moved_bytes={},
        ops=tuple(_op(name, of_op) for name, of_op in ops.items()),
    )


answers = st.builds(
    answer,
    st.dictionaries(st.sampled_from("abcdef"), SPENT, max_size=5),
    SPENT,
    st.integers(1, 5),
    st.fractions(Fraction(1, 3), 1000, max_denominator=50),
)


def assert_adds_up(diff: RunDifference) -> None:
    assert sum(part.cycles for part in diff.parts) == diff.change
    assert sum(part.cycles for part in diff.causes) == diff.change
    assert sum(op.cycles for op in diff.ops) + diff.rest == diff.change
    assert diff.clock_milliseconds + diff.change / (diff.b.core_mhz * 1000) == diff.milliseconds


@given(answers, answers)
def test_the_parts_add_up_to_the_difference_exactly(a: SavedResult, b: SavedResult) -> None:
    diff = compare_results(a, b)
    assert diff.change == b.cycles - a.cycles
    assert_adds_up(diff)
    for part in diff.parts:
        if part.cause != SHARING:
            assert abs(part.cycles - Fraction(part.b - part.a, b.cores)) < 1
    assert [abs(p.cycles) for p in diff.parts] == sorted((abs(p.cycles) for p in diff.parts), reverse=True)
    assert [abs(o.cycles) for o in diff.ops] == sorted((abs(o.cycles) for o in diff.ops), reverse=True)


@given(answers, answers)
def test_there_and_back_again_is_no_difference(a: SavedResult, b: SavedResult) -> None:
    a, b = replace(a, cores=1), replace(b, cores=1)
    a, b = (replace(x, totals={**x.totals, "total_cycles": sum(x.spent.values())}) for x in (a, b))
    there, back = compare_results(a, b), compare_results(b, a)
    assert {(p.op, p.cause): p.cycles for p in there.parts} == {
        (p.op, p.cause): -p.cycles for p in back.parts
    }


def test_each_cause_of_each_op_is_a_part() -> None:
    a = answer({"conv": {"compute": 100, "weights": 50}, "old": {"compute": 7}}, {"core": 5})
    b = answer({"conv": {"compute": 90, "weights": 80, "bank": 3}, "new": {"compute": 11}})
    diff = compare_results(a, b)
    assert [(p.op, p.cause, p.a, p.b, p.cycles) for p in diff.parts] == [
        ("conv", "weights", 50, 80, 30),
        ("new", "compute", 0, 11, 11),
        ("conv", "compute", 100, 90, -10),
        ("old", "compute", 7, 0, -7),
        ("", "core", 5, 0, -5),
        ("conv", "bank", 0, 3, 3),
    ]
    assert [(op.op, op.presence, op.cycles) for op in diff.ops] == [
        ("conv", "both", 23),
        ("new", "only in B", 11),
        ("old", "only in A", -7),
    ]
    assert diff.rest == -5
    assert [(p.cause, p.cycles) for p in diff.causes] == [
        ("weights", 30),
        ("compute", -6),
        ("core", -5),
        ("bank", 3),
    ]


def test_other_cores_share_the_work_before_anything_else_changes() -> None:
    a = answer({"conv": {"compute": 100}})
    b = answer({"conv": {"compute": 100, "core": 20}}, cores=2)
    diff = compare_results(a, b)
    assert [(p.cause, p.cycles) for p in diff.causes] == [(SHARING, -50), ("core", 10)]
    assert diff.change == -40


def test_settings_that_differ_are_in_a_fixed_order() -> None:
    a = answer({}, packer="exact")
    b = replace(answer({}, packer="pool", cores=2), chip_fields={"psram.clock_mhz": "100", "cores": "2"})
    b = replace(b, path={"gate": "face"})
    diff = compare_results(a, b)
    assert [(s.name, s.a, s.b) for s in diff.settings] == [
        ("packer", "exact", "pool"),
        ("cores", "1", "2"),
        ("psram.clock_mhz", "200", "100"),
        ("path gate", None, "face"),
    ]
    assert not diff.same
