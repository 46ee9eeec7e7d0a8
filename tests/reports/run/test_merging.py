"""The memory maps before and after merging, of a plan made by hand."""

from dataclasses import replace

from chipmodel.answers.result import Result
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Plan, Problem, Solved
from chipmodel.model.schedule import Step, StepArm, StepIf, StepLoop
from reports.run.merging import ArmExtent, arm_of, arms_of, merging, saved_words
from tests.reports.pages import marks, told, traces
from tests.reports.sample import EVIL, sample

ONE = Interval(0, 1)


def step(position: int) -> Step:
    return Step(position, f"op{position}", ONE, ONE, 1, (), (), f"op{position}")


BODY = (
    step(0),
    StepIf(
        EVIL,
        (
            StepArm(
                "left",
                (step(1), StepLoop("l", 2, (StepIf("in", (StepArm("x", (step(2),)), StepArm("y", ()))),))),
            ),
            StepArm("right", (step(3), step(4))),
        ),
    ),
    step(5),
)
BUFFERS = (
    Buffer("out", 64, (Interval(0, 6),)),
    Buffer("a", 100, (Interval(1, 3),)),
    Buffer("deep", 10, (Interval(2, 3),)),
    Buffer(EVIL, 50, (Interval(3, 4), Interval(4, 5))),
)


def solved(peak: int, **offsets: int) -> Solved:
    return Solved(
        Plan({EVIL if n == "b" else n: at for n, at in offsets.items()}), "feasible", 1, peak, 0, "p"
    )


def result(peak: int = 224) -> Result:
    return replace(
        sample(),
        schedule=replace(sample().schedule, body=BODY),
        problem=Problem(BUFFERS, 65536),
        solved=solved(174, out=0, a=64, deep=164, b=64),
        unmerged=solved(peak, out=0, a=64, deep=164, b=174),
    )


def test_arms_are_intervals_of_positions() -> None:
    assert list(arms_of(BODY)) == [
        ArmExtent(EVIL, "left", 0, Interval(1, 3)),
        ArmExtent(EVIL, "right", 1, Interval(3, 5)),
        ArmExtent("in", "x", 0, Interval(2, 3)),
    ]


def test_a_buffer_belongs_to_the_innermost_arm_that_contains_its_lifetime() -> None:
    arms = list(arms_of(BODY))
    found = [arm_of(buffer, arms) for buffer in BUFFERS]
    assert [arm and arm.name for arm in found] == [None, "left", "x", "right"]
    assert arm_of(Buffer("never", 1, ()), arms) is None


def test_both_maps_have_the_same_boxes_and_one_scale() -> None:
    charts = merging(result())
    assert list(charts) == ["none", "conflict"]
    before, after = (charts[name] for name in ("none", "conflict"))
    assert marks(before) == marks(after) == 5
    assert before.figure["layout"]["yaxis"]["range"] == after.figure["layout"]["yaxis"]["range"]
    tops = {}
    for name, chart in charts.items():
        for trace in traces(chart)[:-1]:
            for name_and_arm, place, _ in told(trace):
                tops[name, name_and_arm.partition(" in arm ")[0][:4]] = int(place.split()[3])
    assert tops["none", "dw&l"] == 174
    assert tops["conflict", "dw&l"] == 64
    assert tops["none", "a"] == tops["conflict", "a"] == 64


def test_boxes_are_coloured_and_named_by_their_arm() -> None:
    chart = merging(result())["conflict"]
    named = {t["name"]: [d[0].partition(" in arm ")[2] for d in told(t)] for t in traces(chart)[:-1]}
    evil = "dw&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&amp;amp;&lt;/b&gt;"
    assert named == {
        "outside of all arms": [""],
        "arm 1 of an if": [f"left of {evil}", "x of in"],
        "arm 2 of an if": [f"right of {evil}"] * 2,
    }
    assert len({t["marker"]["color"] for t in traces(chart)[:-1]}) == 3


def test_the_sentence_on_what_merging_saved() -> None:
    assert saved_words(result()) == "--merge conflict needs 174 B, 22.3% less than the 224 B of --merge none."
    assert saved_words(result(174)) == "Both need 174 B: the buffers outside of the arms determine the peak."
    assert (
        saved_words(result(170)) == "--merge conflict needs 174 B, 2.4% more than the 170 B of --merge none."
    )
