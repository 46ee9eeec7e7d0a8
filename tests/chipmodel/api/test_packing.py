"""``pack`` and ``compare``: buffers in, offsets and bounds out."""

import chipmodel as cm

BUFFERS = [("a", 0, 3, 10), ("b", 1, 5, 20), ("c", 4, 6, 10)]


def test_buffers_are_packed_and_checked() -> None:
    packing = cm.pack(BUFFERS, capacity=30)
    assert (packing.fits, packing.status, packing.peak_bytes, packing.bound) == (True, "optimal", 30, 30)
    assert packing.gap == 0
    assert cm.check(packing, BUFFERS).correct
    assert packing.to_csv().splitlines()[0] == "id,lower,upper,size,offset"
    assert [row["offset"] for row in packing.rows()] == [packing.offsets[name] for name in "abc"]


def test_a_problem_is_its_table_holes_included() -> None:
    holed = {"id": "a", "lower": 0, "upper": 9, "size": 8, "gaps": "2-5"}
    packing = cm.pack(cm.pack([holed]).answer.problem)
    header, first, *_ = packing.to_csv().splitlines()
    assert header == "id,lower,upper,size,gaps,offset"
    assert first.startswith("a,0,9,8,2-5,")


def test_columns_may_have_the_names_of_minimalloc() -> None:
    """``end`` is the last position of a lifetime."""
    packing = cm.pack([{"buffer": "a", "start": 0, "end": 2, "size": "4KiB"}])
    (buffer,) = packing.answer.problem.buffers
    assert (buffer.live[0].stop, buffer.bytes) == (3, 4096)
    assert packing.headline().startswith("1 buffer fits in 4,096 B")


def test_progress_hears_of_the_search() -> None:
    heard: list[str] = []
    cm.pack("guillotine:n=20,seed=1", progress=heard.append)
    assert heard[0] == "packing"
    assert "packing: best 1,048,576 B  bound 1,048,576 B  gap 0.00%" in heard[-2]
    assert heard[-1] == "packing: checking the answer"
