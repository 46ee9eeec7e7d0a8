"""``sync``: every transfer at its own step, none hidden; a faster Psram is never slower."""

from chipmodel.model.program import ops
from dma.residency.tiling import least_weights
from dma.stream import stream
from tests.support.chips import LUNA_LIKE
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder


def test_every_transfer_is_due_where_it_is_issued() -> None:
    """A load at the first step that needs it, a store at the last that writes it."""
    schedule = stream(small_network("order"), LUNA_LIKE, "sync", 1 << 20)
    assert [(t.name, t.issue, t.due) for t in schedule.transfers] == [
        ("load weights of a", 0, 0),
        ("load x", 0, 0),
        ("store a", 0, 0),
        ("load weights of b", 1, 1),
        ("store b", 1, 1),
    ]


def test_a_store_waits_for_the_last_slice() -> None:
    schedule = stream(small_network("sync slices"), LUNA_LIKE, "sync", 2048)
    positions = {t.name.partition(" [")[0]: (t.issue, t.due) for t in schedule.transfers}
    last = len([t for t in schedule.transfers if t.part.weights]) - 1
    assert last > 0
    assert positions["load x"] == (0, 0)
    assert positions["store a"] == (last, last)


def test_the_least_weight_buffer() -> None:
    builder = ProgramBuilder("least")
    x = builder.input("x", (1, 10))
    builder.dense("d", x, 8, bias=False)  # 80 B, 10 B an output channel
    builder.elementwise("relu", "r", [x])
    builder.elementwise("mul", "m", [x], weights=[builder.raw_weight("scale", 50)])
    program = builder.build()
    d, r, m = ops(program.body)
    assert [least_weights(program, d, keep) for keep in (0, 9, 10, 33, 80, 1000)] == [10, 10, 10, 33, 80, 80]
    assert least_weights(program, r, 100) == 0
    assert least_weights(program, m, 0) == 50  # one channel: it cannot be cut
