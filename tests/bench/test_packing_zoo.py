"""``exact`` beside the solvers inside it: what is stored is not done again, and what is behind is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import packing_zoo

ASKED = ("--chips", "luna-arcs", "--networks", "denoise,resnet8,ssd_mobilenetv2", "--limit", "0.2")


def test_a_stopped_command_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "zoo.jsonl"
    packing_zoo.main([*ASKED, "--store", str(store), "--budget", "0"])
    assert store.read_text() == ""
    packing_zoo.main([*ASKED, "--store", str(store)])
    whole = store.read_text()
    lines = [json.loads(line) for line in whole.splitlines()]
    assert [(each["pair"].split()[0], each["packer"]) for each in lines] == [
        *(("denoise", packer) for packer in packing_zoo.PACKERS),
        ("resnet8", ""),
        ("ssd_mobilenetv2", ""),
    ]
    assert [each["status"] for each in lines[-2:]] == ["closed", "no plan"]
    said = capsys.readouterr().out
    assert "0 of 3 pairs" in said
    assert "3 of 3 pairs: 1 do not fit,\n1 are closed before any search, 1 are given" in said

    kept, torn = whole[:60], whole.splitlines(keepends=True)[:2]
    assert not kept.endswith("\n")
    store.write_text("".join(torn) + kept)
    packing_zoo.main([*ASKED, "--store", str(store)])
    assert packing_zoo.stored(store).keys() == {(each["pair"], each["packer"]) for each in lines}


@pytest.mark.parametrize(
    ("peak", "status", "cpu", "word"),
    [
        (101, "optimal", 0.1, "worse"),
        (100, "feasible", 0.1, "later"),
        (100, "optimal", 1.3, "later"),
        (100, "optimal", 1.15, ""),
        (99, "feasible", 5.0, ""),
    ],
)
def test_exact_is_behind_by_a_byte_or_a_tenth_of_the_time(
    peak: int, status: str, cpu: float, word: str
) -> None:
    other = {"peak": 100, "status": "optimal", "cpu": 1.0}
    own = {"peak": peak, "status": status, "cpu": cpu}
    said = list(packing_zoo.behind("a on b", {"exact": own, "search": other}))
    assert [line.split()[0] for line in said] == ([word] if word else [])
