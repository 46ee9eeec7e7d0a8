"""Packing problems as CSV: reading, errors with their places, and writing."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from chipmodel.errors import BadInput, Place, TimeIsOver
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Memory, PackingTable, Plan
from solvers.core.deadline import Deadline
from tests.support.mistakes import mistakes
from tests.support.work import CountedClock, calls
from workloads.packing import problem_csv
from workloads.packing.problem_csv import (
    MAX_VALUE,
    parse_memories,
    parse_packing,
    read_packing,
    write_packing,
)

HEAD = "id,lower,upper,size\n"
FAST = (Memory("fast", 0, 100), Memory("slow", 100, 500))


def read(text: str, capacity: int | None = None, memories: tuple[Memory, ...] = ()) -> PackingTable:
    return parse_packing(text, "p.csv", capacity, memories)


def refused(text: str, memories: tuple[Memory, ...] = ()) -> BadInput:
    with pytest.raises(BadInput) as raised:
        read(text, None, memories)
    assert raised.value.hint
    return raised.value


def test_minimallocs_own_example() -> None:
    """The input of its README (google/minimalloc)."""
    table = read(HEAD + "b1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n", 12)
    assert table.problem.capacity == 12
    assert table.problem.buffers[1] == Buffer("b2", 4, (Interval(3, 9),))
    assert len(table.problem.buffers) == 5
    assert table.problem.plain
    assert table.notes == ()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("answer.json", '{"status": "optimal", "offsets": {}}'),
        ("damaged.json", '{"status": "optimal", "off'),
        ("damaged.JSON", "status: optimal"),
        ("rows", ' [["a", 0, 3, 4]]'),
    ],
)
def test_json_is_not_read_as_csv(name: str, text: str, tmp_path: Path) -> None:
    """Its quotes were said to be those of cells that are not closed."""
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(BadInput, match="this is JSON, not a CSV file") as raised:
        read_packing(file)
    assert raised.value.where == Place(str(file), 1, 1)
    assert "id,lower,upper,size" in raised.value.hint


def test_brackets_in_names_of_columns_are_no_json(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("[unit],id,lower,upper,size\nB,a,0,3,4\n")
    assert read_packing(file).problem.buffers == (Buffer("a", 4, (Interval(0, 3),)),)


@pytest.mark.parametrize(
    "text",
    [
        "id,lower,upper,size\na,1,5,8\n",
        "size,upper,id,lower\n8,5,a,1\n",
        "\ufeffid,lower,upper,size\r\na,1,5,8\r\n",
        "id,lower,upper,size\ra,1,5,8\r",
        '"id" , lower,\tupper ,"size"\n "a" , 1,5 ,8',
        "\n\nid,lower,upper,size\n\n  \na,1,5,+8\n\n",
        "buffer,start,end,size\na,1,4,8\n",
        "buffer_id,begin,upper,size\na,1,5,8\n",
    ],
)
def test_one_problem_in_many_spellings(text: str) -> None:
    assert read(text.removeprefix("\ufeff")).problem.buffers == (Buffer("a", 8, (Interval(1, 5),)),)


def test_a_byte_order_mark_and_other_folders(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(b"\xef\xbb\xbfid,lower,upper,size\r\na,1,5,8\r\n")
    assert read_packing(path).problem.buffers[0].name == "a"


def test_quoted_ids_may_hold_commas_and_quotes() -> None:
    table = read(HEAD + '"a, ""b""",0,1,2\n')
    assert table.problem.buffers[0].name == 'a, "b"'
    assert write_packing(table, Plan({'a, "b"': 6})) == 'id,lower,upper,size,offset\n"a, ""b""",0,1,2,6\n'


def test_names_are_written_as_text_that_is_seen_and_no_formula() -> None:
    table = read(HEAD + "=1+1,0,1,2\na\u202eb\u200b,0,1,2\n")
    lines = write_packing(table, Plan({"=1+1": 0, "a\u202eb\u200b": 2})).splitlines()
    assert lines[1:] == ["'=1+1,0,1,2,0", "a\\u202eb\\u200b,0,1,2,2"]


def test_a_header_alone_is_an_empty_problem() -> None:
    table = read(HEAD)
    assert table.problem.buffers == ()
    assert write_packing(table, Plan({})) == "id,lower,upper,size,offset\n"


def test_alignment_and_empty_cells() -> None:
    table = read("id,lower,upper,size,alignment,hint\na,0,1,2,16,\nb,0,1,2,,32\n")
    assert [b.alignment for b in table.problem.buffers] == [16, 1]
    assert table.hints == {"b": 32}


def test_gaps_are_holes_in_the_lifetime() -> None:
    table = read(
        "id,lower,upper,size,gaps\na,0,20,2,3-5 10-20\nb,-9,9,2,-5--3\nc,0,4,2,0-4\nd,0,9,1,2-6 4-7\n"
    )
    assert [b.live for b in table.problem.buffers] == [
        (Interval(0, 3), Interval(5, 10)),
        (Interval(-9, -5), Interval(-3, 9)),
        (),
        (Interval(0, 2), Interval(7, 9)),
    ]


def test_an_end_column_is_inclusive_in_gaps_too() -> None:
    """As in MiniMalloc's reader: ``end`` and the ends of gaps are the last positions."""
    table = read("id,start,end,size,gaps\na,0,9,2,3-4\n")
    assert table.problem.buffers[0].live == (Interval(0, 3), Interval(5, 10))


def test_every_constraint_column() -> None:
    text = (
        "id,lower,upper,size,pinned,memories,colocate,separate,apart\n"
        "a,0,9,8,16,fast,one,,\n"
        "b,0,9,8,,fast; slow,one,c;d,\n"
        "c,0,9,8,,,two,b,d\n"
        "d,0,9,8,0,,,,c\n"
    )
    problem = read(text, 400, FAST).problem
    assert [b.pinned for b in problem.buffers] == [16, None, None, 0]
    assert [b.memories for b in problem.buffers] == [("fast",), ("fast", "slow"), (), ()]
    assert problem.colocated == (("a", "b"),)
    assert problem.separated == (("b", "c"), ("b", "d"))
    assert problem.apart == (("c", "d"),)
    assert problem.memories == FAST
    assert not problem.plain


def test_an_empty_lifetime_and_a_size_of_0_are_allowed_and_noted() -> None:
    table = read(HEAD + "a,5,5,8\nb,0,9,0\nc,6,6,8\n")
    assert [b.live for b in table.problem.buffers] == [(), (Interval(0, 9),), ()]
    assert table.notes == ("the lifetime of 'a' and 1 more is empty: it conflicts with no other buffer",)


def test_sizes_of_2_to_the_40_are_read_exactly() -> None:
    table = read(HEAD + f"a,{-MAX_VALUE},{MAX_VALUE},{1 << 40}\nb,0,1,{(1 << 60) + 1}\n")
    assert [b.bytes for b in table.problem.buffers] == [1 << 40, (1 << 60) + 1]


def test_a_column_of_the_users_own_is_kept_and_noted() -> None:
    table = read("id,lower,upper,size,colour\na,0,1,2,red\n")
    assert table.notes == ("the column 'colour' is not used",)
    assert write_packing(table, Plan({"a": 4})).splitlines()[1] == "a,0,1,2,red,4"


def test_an_old_offset_is_replaced_and_is_a_hint() -> None:
    table = read("id,offset,lower,upper,size\na,64,0,1,2\n")
    assert table.hints == {"a": 64}
    assert "pinned" in table.notes[0]
    assert write_packing(table, Plan({"a": 4})) == "id,offset,lower,upper,size\na,4,0,1,2\n"


TOO_LARGE = ("2:7", f"{HEAD}a,0,5,{'9' * 5000}\n", "out of range")


@pytest.mark.parametrize(("place", "text", "words"), [*mistakes("packing"), TOO_LARGE])
def test_each_mistake_has_its_place(place: str, text: str, words: str) -> None:
    mistake = refused(text)
    assert (str(mistake.where), words in mistake.what) == (f"p.csv:{place}", True), str(mistake)
    assert len(str(mistake)) < 600


def test_names_that_are_nearly_right_are_suggested() -> None:
    assert "did you mean 'alignment'" in refused("id,lower,upper,size,alignement\n").hint
    text = "id,lower,upper,size,memories\na,0,5,8,fst\n"
    assert "did you mean 'fast'" in refused(text, FAST).hint
    text = "id,lower,upper,size,separate\nconv1,0,5,8,conv2\nconv3,0,5,8,\n"
    assert "did you mean" in refused(text).hint


def test_a_directory_a_missing_file_and_a_binary_one(tmp_path: Path) -> None:
    binary = tmp_path / "b.csv"
    binary.write_bytes(b"id,lower,upper,size\na,\xff\xfe,1,2\n")
    for path, words in ((tmp_path, "directory"), (tmp_path / "no.csv", "no such file"), (binary, "0xff")):
        with pytest.raises(BadInput) as raised:
            read_packing(path)
        assert words in raised.value.what
    assert str(raised.value.where) == f"{binary}:2:3"


def test_memories_lie_one_after_another_or_where_they_are_put() -> None:
    assert parse_memories(["fast=1KiB", "slow=2KiB"]) == (Memory("fast", 0, 1024), Memory("slow", 1024, 3072))
    assert parse_memories(["b=100-200", "a = 0-50", "c=10"])[2] == Memory("c", 200, 210)
    assert parse_memories([]) == ()


@pytest.mark.parametrize(
    "texts",
    [
        ["fast"],
        ["=5"],
        ["fast="],
        ["a=5", "a=6"],
        ["a=0-10", "b=5-20"],
        ["a=20-10"],
        ["a=-5"],
        ["a=x"],
        ["a;b=4"],
    ],
)
def test_malformed_memories_are_refused(texts: list[str]) -> None:
    with pytest.raises(BadInput) as raised:
        parse_memories(texts)
    assert raised.value.hint


@given(
    st.lists(
        st.tuples(st.integers(-99, 99), st.integers(0, 50), st.integers(0, 1 << 40), st.integers(1, 64)),
        max_size=9,
    ),
    st.permutations(["id", "lower", "upper", "size", "alignment"]),
)
def test_what_is_written_is_read_again(rows: list[tuple[int, int, int, int]], header: list[str]) -> None:
    values = [
        {"id": f"b{i}", "lower": str(a), "upper": str(a + n), "size": str(s), "alignment": str(k)}
        for i, (a, n, s, k) in enumerate(rows)
    ]
    text = "\n".join(
        ",".join(v[name] for name in header) for v in [dict(zip(header, header, strict=True)), *values]
    )
    table = read(text)
    offsets = {f"b{i}": 7 * i for i in range(len(rows))}
    again = read(write_packing(table, Plan(offsets)))
    assert again.problem == table.problem
    assert again.hints == offsets
    assert [b.bytes for b in table.problem.buffers] == [s for _, _, s, _ in rows]


def mistake_in(text: str) -> BadInput | None:
    try:
        read(text)
    except BadInput as mistake:
        return mistake
    return None


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    mistake = mistake_in(text)
    assert mistake is None or mistake.where is not None


@given(st.text(alphabet='a0,"\n -;', max_size=60))
def test_any_rows_are_read_or_refused(text: str) -> None:
    mistake = mistake_in(HEAD.strip() + ",gaps,separate\n" + text)
    assert mistake is None or (mistake.where is not None and mistake.where.line >= 1)


def test_more_rows_than_can_be_packed_are_refused_at_the_first_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(problem_csv, "MAX_ROWS", 3)
    rows = [f"b{i},0,1,1\n" for i in range(4)]
    assert len(read(HEAD + "".join(rows[:3])).problem.buffers) == 3
    with pytest.raises(BadInput, match="more than 3 buffers") as refused:
        read(HEAD + "\n" + "".join(rows))
    assert str(refused.value.where) == "p.csv:6:1"


def test_more_gaps_than_can_be_packed_are_refused_at_the_buffer_that_has_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(problem_csv, "MAX_ROWS", 4)
    head, row = HEAD.strip() + ",gaps\n", "{},0,9,1,1-2 4-5\n"
    assert len(read(head + row.format("a")).problem.buffers[0].live) == 3
    with pytest.raises(BadInput, match="gaps of buffer 'b' lifetimes have more than 4 parts") as refused:
        read(head + row.format("a") + row.format("b"))
    assert str(refused.value.where) == "p.csv:3:9"


def test_many_gaps_are_taken_out_in_one_sweep() -> None:
    gaps = " ".join(f"{3 * at + 1}-{3 * at + 2}" for at in reversed(range(20_000)))
    tables: list[PackingTable] = []
    line = f'id,lower,upper,size,gaps\na,0,60000,1,"{gaps} 10-20 15-30"\n'
    assert calls(lambda: tables.append(read(line))) < 1_000_000
    live = tables[0].problem.buffers[0].live
    assert live[:5] == tuple(Interval(*pair) for pair in ((0, 1), (2, 4), (5, 7), (8, 10), (30, 31)))
    assert live[-1] == Interval(59_999, 60_000)


def test_reading_ends_at_the_deadline() -> None:
    text = "id,lower,upper,size\n" + "".join(f"b{i},0,1,1\n" for i in range(1000))
    late = Deadline(5.0, CountedClock(1.0))
    with pytest.raises(TimeIsOver, match="before all buffers were read"):
        parse_packing(text, "p.csv", deadline=late)
    assert len(parse_packing(text, "p.csv", deadline=Deadline(1e9, CountedClock(1.0))).rows) == 1000
