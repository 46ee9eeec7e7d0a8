"""Language models have the sizes that their publication prints, and caches that grow by a run's tokens."""

import pytest

from chipmodel.passes.validate import validate_program
from chipmodel.rewrites.states import with_states
from tests.support.networks import built_in as program


# The table of models in the README of karpathy/llama2.c prints these names as numbers of parameters, which
# count the table of embeddings once: it is also the last layer's weights.
@pytest.mark.parametrize(
    ("variant", "parameters"), [("260K", 260e3), ("15M", 15e6), ("42M", 42e6), ("110M", 110e6)]
)
def test_parameters_are_those_of_the_table(variant: str, parameters: float) -> None:
    built = program(f"stories?variant={variant}")
    validate_program(built)
    assert built.parameters == pytest.approx(parameters, rel=0.015)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
def test_a_token_more_takes_a_row_more_of_each_cache(dtype: str) -> None:
    built = [with_states(program(f"stories?variant=260K&past={n}", dtype), ()) for n in (7, 8)]
    for each in built:
        validate_program(each)
    kept = [sum(each.tensors[name].bytes for name in each.states) for each in built]
    size = {"int8": 1, "int16": 2, "float32": 4}[dtype]
    grown = [{each.tensors[name].shape for name in each.states.values()} for each in built]
    assert grown == [{(8, 32)}, {(9, 32)}]
    # Keys and values of 5 layers, 4 heads of 8 elements each.
    assert [len(each.states) for each in built] == [10, 10]
    assert kept == [7 * 10 * 32 * size, 8 * 10 * 32 * size]
    # 5 layers compare one query of 64 elements with one key more, and add one value more.
    assert built[1].macs - built[0].macs == 5 * 2 * 64


def test_a_prompt_costs_what_its_tokens_cost_but_the_scores_of_one() -> None:
    words = 32000 * 288
    tokens = [program(f"stories?past={past}").macs - words for past in range(4)]
    prompt = program("stories?tokens=4&past=0")
    validate_program(prompt)
    # Every query is compared with all four keys, later ones too: a mask, not a shorter product.
    masked = 6 * 2 * 288 * (0 + 1 + 2 + 3)
    assert prompt.macs == sum(tokens) + words + masked
    assert not with_states(prompt, ()).states
