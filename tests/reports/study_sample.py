"""Studies made by hand and by seed for the tests of the study page: known answers, and many rows."""

from dataclasses import replace
from random import Random

from chipmodel.answers.study_results import StudyResults
from chipmodel.answers.study_row import Improved, Point, Row, Status
from chipmodel.model.time_bound import WITHOUT_CASCADES

EVIL = "<script>alert('x')</script>.csv"
PACKERS = (
    *("exact", "search", "hill-climb", "state-search", "context-evolutionary", "context-rl"),
    *("large-first", "greedy-best-fit", "context", "context-pool", "conflict-first", "buckets"),
    *("short-first", "sequential", "free-list", "pool", "cp-sat", "linear", "naive"),
)
SEARCHES = ("exact", "search", "cp-sat", "hill-climb", "context-evolutionary", "context-rl")


def packing(workload: str, packer: str, peak: int | None, bound: int, status: Status = "feasible") -> Row:
    """A row of a packing problem, whose key is its point in hexadecimal."""
    point = Point(workload, "", packer, "", "", 0)
    return Row(point, f"{packer}/{workload}".encode().hex(), status, 0.5, peak, bound)


def network(
    workload: str, cycles: int | None, bound: int = 1000, capacity: int = 262144, **changes: object
) -> Row:
    """A row of a network on a chip of 1 MHz; ``changes`` are fields of its point."""
    plain = Point(workload, "luna-arcs", "large-first", "conflict", "ping-pong", 0)
    point = replace(plain, **changes)  # type: ignore[arg-type]
    fits = cycles is not None
    return Row(
        point,
        repr(point).encode().hex(),
        "optimal" if fits else "does not fit",
        0.01,
        capacity // 2 if fits else None,
        capacity // 2 if fits else None,
        capacity,
        cycles,
        bound if fits else None,
        milliseconds=None if cycles is None else cycles / 1000,
        bound_space=WITHOUT_CASCADES if fits else None,
    )


def small() -> StudyResults:
    """Four packings, one with a hostile name, and three planners; a point failed and a point is missing."""
    searched = packing("a.csv", "exact", 100, 100, "optimal")
    steps = (Improved(0.001, 150, 80), Improved(0.02, 120, 90), Improved(0.4, 100, 100))
    rows = (
        replace(searched, trajectory=steps),
        packing("b.csv", "exact", 200, 200, "optimal"),
        packing("c.csv", "exact", None, 300, "unknown"),
        packing(EVIL, "exact", 400, 400, "optimal"),
        packing("a.csv", "best-fit", 110, 90),
        packing("b.csv", "best-fit", 200, 150),
        packing("c.csv", "best-fit", 330, 250),
        packing(EVIL, "best-fit", 500, 250),
        packing("a.csv", "naive", 300, 90),
        packing("b.csv", "naive", 400, 150),
        packing("c.csv", "naive", 900, 250),
        replace(
            packing(EVIL, "naive", None, 0, "failed"),
            error="wrong\n  hint: <b>not so</b>",
            peak_lower_bound_bytes=None,
        ),
    )
    text = "title: Who packs best?\nworkloads: ['*.csv']\n"
    return StudyResults("small", rows, "Who packs <best>?", "small.yaml", text, "c0de", 13)


def designs() -> StudyResults:
    """Two networks over three memories and two clocks, with two streamers: 24 points with known answers."""
    table: dict[
        str, dict[int, float | None]
    ] = {  # milliseconds by memory in KiB, of ping-pong at 200 MHz; sync is 1.5 times as slow
        "zoo:one": {128: None, 256: 11.0, 512: 10.0},
        "zoo:two": {128: 40.0, 256: 20.4, 512: 20.0},
    }
    rows = [
        network(
            workload,
            None if ms is None else round(ms * 1000 * slow * (1.5 if streamer == "sync" else 1)),
            5000,
            memory * 1024,
            streamer=streamer,
            overrides=(("psram.clock_mhz", clock), ("shared_memory.bytes", f"{memory}KiB")),
        )
        for workload, sizes in table.items()
        for memory, ms in sizes.items()
        for clock, slow in (("100", 2.0), ("200", 1.0))
        for streamer in ("sync", "ping-pong")
    ]
    return StudyResults("designs", tuple(rows), points=24)


def merged_row(packer: str, merge: str, peak: int, bound: int, least: int | None) -> Row:
    """A row of the same buffers as all of them."""
    row = network("n", 2000, packer=packer, merge=merge, buffers="same")
    return replace(
        row,
        status="feasible",
        peak_bytes=peak,
        peak_lower_bound_bytes=bound,
        merger_lower_bound_bytes=least,
        problem="p",
    )


def merged() -> StudyResults:
    """Buffers with a smallest peak of 100 B, of 150 B with merger none; nothing is known of straight-line."""
    rows = (
        merged_row("exact", "conflict", 100, 100, 100),
        merged_row("pool", "conflict", 110, 90, 90),
        merged_row("exact", "none", 150, 90, 150),
        merged_row("pool", "none", 180, 90, None),
        merged_row("pool", "straight-line", 200, 90, None),
    )
    return StudyResults("merged", rows)


def many(points: int = 300, seed: int = 1) -> StudyResults:
    """As a study of 19 packers is: some prove, some search, gaps have a long tail, a few fail."""
    random = Random(seed)
    rows: list[Row] = []
    for k in range(-(-points // len(PACKERS))):
        bound = random.randrange(40_000, 2_000_000)
        hard = random.random()
        for rank, packer in enumerate(PACKERS):
            chosen = _random_row(
                random,
                f"models/network-{k:02}.onnx" if k % 2 else f"minimalloc:{k}",
                packer,
                rank,
                bound,
                hard,
            )
            rows.append(chosen)
    return StudyResults(
        "many",
        tuple(rows[:points]),
        "Every packer on everything",
        "many.yaml",
        "packers: all\n",
        "abc",
        points,
    )


def _random_row(random: Random, workload: str, packer: str, rank: int, bound: int, hard: float) -> Row:
    gap = 0.0 if hard * rank < 0.9 else random.lognormvariate(-5 + rank * 0.25, 0.9)
    peak = round(bound * (1 + min(gap, 9.0)))
    network = not workload.startswith("minimalloc")
    seconds = random.lognormvariate(-7 + (8 if packer in SEARCHES else 0), 1)
    names = ("luna-arcs", packer, "conflict", "ping-pong") if network else ("", packer, "", "")
    point = Point(workload, names[0], packer, names[2], names[3], 0, (), 10.0 if packer in SEARCHES else None)
    key = random.randbytes(16).hex()
    if random.random() < 0.02:
        return Row(
            point, key, "failed", seconds, error="no plan keeps the constraint\n  hint: another packer"
        )
    proven: Status = "optimal" if peak == bound else "feasible"
    cycles = round(bound * 11.7 * (1 + random.random() * 0.4)) if network else None
    return Row(
        point,
        key,
        proven,
        seconds,
        peak,
        bound if rank < 3 else round(bound * 0.98) if not network and gap else bound,
        1 << 21,
        cycles,
        None if cycles is None else round(bound * 11.7),
        milliseconds=None if cycles is None else cycles / 3e5,
        problem=workload,
        trajectory=_steps(random, peak, bound, seconds) if packer in SEARCHES else (),
    )


def _steps(random: Random, peak: int, bound: int, seconds: float) -> tuple[Improved, ...]:
    times = sorted(random.random() ** 3 * seconds for _ in range(6))
    return tuple(
        Improved(time, round(peak * (1 + 0.08 * (5 - k))), round(bound * (0.9 + 0.02 * k)))
        for k, time in enumerate(times)
    )
