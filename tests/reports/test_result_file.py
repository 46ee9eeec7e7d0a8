import json
from collections.abc import Callable
from typing import Any

import pytest

from chipmodel.errors import BadInput
from reports.result_file import read_result
from reports.run.document import document
from reports.run.totals import run_totals
from tests.reports.sample import EVIL, sample
from tests.support.narrowed import some

Change = Callable[[dict[str, Any]], object]


def text_of(change: Change = lambda _: None) -> str:
    made: dict[str, Any] = json.loads(json.dumps(document(sample())))
    change(made)
    return json.dumps(made, indent=2)


def test_a_written_result_reads_back() -> None:
    result, answer = sample(), read_result(text_of(), "a.json")
    sums = run_totals(result)
    assert answer.cycles == result.trace.cycles
    assert answer.milliseconds == result.trace.cycles / (result.chip.core_mhz * 1000)
    assert answer.spent == {"compute": sums.compute_cycles, **sums.stalls}
    assert [(op.name, op.cycles) for op in answer.ops] == [
        (op.name, op.compute_cycles + op.stall_cycles) for op in sums.ops
    ]
    assert EVIL in [op.name for op in answer.ops]
    assert answer.chip_fields["psram.clock_mhz"] == "240"
    assert answer.path == {"refine": "3", "wake?": "loud"}
    assert answer.cores == 1


def _op(made: dict[str, Any]) -> Any:
    return made["ops"][1]


WRONG: list[tuple[Change, str]] = [
    (lambda m: m.pop("format"), r"a\.json:1:1: this result is from an older version"),
    (lambda m: m.update(format="chipmodel-result/9"), r"a\.json:2:13: format: 'chipmodel-result/9' is not"),
    (lambda m: m.pop("total_cycles"), r"a\.json:2:13: format: this is not a chipmodel-result/1"),
    (lambda m: (m.pop("total_cycles"), m.pop("format")), r"a\.json:1:1: this is not a chipmodel-result/1"),
    (lambda m: m.update(core_mhz=0), r"a clock of 0 MHz"),
    (lambda m: m["stalls"].update(weights=7), r"stalls: computing and waiting add up to [\d,]+ cycles"),
    (lambda m: m.pop("moved_bytes"), r"the key 'moved_bytes' is missing"),
    (lambda m: _op(m).update(name="stem"), r"ops\[1\]\.name: two ops have the name 'stem'"),
    (lambda m: _op(m).update(loaded_bytes="1"), r"ops\[1\]\.loaded_bytes: expected a whole number"),
]


@pytest.mark.parametrize(("change", "what"), WRONG)
def test_other_documents_are_refused(change: Change, what: str) -> None:
    with pytest.raises(BadInput, match=what) as refused:
        read_result(text_of(change), "a.json")
    assert some(refused.value.where).line
    assert "simulate WORKLOAD --json" in refused.value.hint


@pytest.mark.parametrize("text", ["[]", "3", '"format"', "null"])
def test_other_json_values_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="expected an object"):
        read_result(text, "a.json")
