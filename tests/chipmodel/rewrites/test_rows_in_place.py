"""Which inputs' memory an output may take row by row."""

from chipmodel.model.program import Program
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.rows_in_place import row_bytes, rows_to_take
from workloads.build.builder import ProgramBuilder


def chain(
    *, ends_in_place: bool = False, reads_again: bool = False, begins_in_place: bool = False
) -> Program:
    """An input, pooled or passed through relu, then two convolutions and a pooling of all, or a relu."""
    builder = ProgramBuilder("chain")
    x = builder.input("x", (1, 2, 8, 8))
    x = builder.elementwise("relu", "a", [x]) if begins_in_place else builder.pool("a", x, (2, 2))
    b = builder.conv("b", x, 2, (3, 3), pad=1)
    c = builder.conv("c", b, 2, (3, 3), pad=1)
    if reads_again:
        c = builder.elementwise("add", "d", [c, b])
    last = builder.elementwise("relu", "e", [c]) if ends_in_place else builder.pool("e", c, None)
    builder.output(last)
    return reuse(builder.build(), "all")


def test_each_layer_takes_the_tensor_that_dies_there() -> None:
    assert rows_to_take(chain()) == {"b": "a", "c": "b"}


def test_no_input_of_the_program_is_taken_nor_what_has_its_memory() -> None:
    assert rows_to_take(chain(begins_in_place=True)) == {"c": "b"}


def test_no_output_of_the_program_takes_anything_nor_what_will_have_its_memory() -> None:
    assert rows_to_take(chain(ends_in_place=True)) == {"b": "a"}


def test_a_tensor_that_is_read_later_is_not_taken() -> None:
    assert rows_to_take(chain(reads_again=True)) == {"b": "a"}


def test_of_two_inputs_the_larger_one_is_taken() -> None:
    """Eight rows of 4 bytes, and of 6."""
    builder = ProgramBuilder("two")
    x = builder.input("x", (8, 6))
    both = [builder.dense("small", x, 4), builder.dense("large", x, 6)]
    joined = builder.vector("sum_rows", "s", both, (8, 5))
    builder.output(builder.dense("o", joined, 2))
    assert rows_to_take(reuse(builder.build(), "none")) == {"s": "large"}


def test_a_row_is_one_of_the_tensor_as_it_lies_in_memory() -> None:
    program = chain()
    assert row_bytes(program, "a") == 2 * 4
    assert row_bytes(program, "x") == 2 * 8
