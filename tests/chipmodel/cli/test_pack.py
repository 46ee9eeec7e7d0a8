"""``chipmodel pack`` as a user meets it: stdout, stderr, files and exit codes."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from chipmodel.comparison import packing
from chipmodel.model.certificate import LiveSet
from chipmodel.model.plan import Plan, Solved
from solvers.registry import solve
from tests.support.command_line import Call
from workloads.packing.problem_csv import read_packing

EXAMPLE = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"
"""MiniMalloc's own example, which fits 12 bytes."""
KEYS = {
    *("packer", "status", "peak_bytes", "lower_bound_bytes", "gap", "seconds", "buffers", "capacity_bytes"),
    *("offsets", "proof", "certificate", "explanation", "trajectory", "fits", "nodes", "source", "notes"),
}


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "example.csv"
    path.write_text(EXAMPLE)
    return path


@pytest.fixture
def run_pack(call: Call) -> Call:
    return partial(call, "pack")


def answer_of(run_pack: Call, *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    code, out, _ = run_pack(*arguments, "--json", "-")
    answer = json.loads(out)
    assert set(answer) >= KEYS
    return code, answer


@pytest.mark.parametrize("packer", ["exact", "search", "cp-sat", "large-first"])
def test_minimallocs_example_needs_12_bytes(packer: str, example: Path, run_pack: Call) -> None:
    code, answer = answer_of(run_pack, example, "--packer", packer)
    assert (code, answer["status"], answer["peak_bytes"], answer["lower_bound_bytes"]) == (
        0,
        "optimal",
        12,
        12,
    )
    assert answer["gap"] == 0
    assert answer["buffers"] == 5
    assert answer["capacity_bytes"] is None
    assert set(answer["offsets"]) == {"b1", "b2", "b3", "b4", "b5"}
    assert answer["packer"] == packer


def test_a_bound_of_the_whole_is_not_rounded_up_for_a_part(run_pack: Call) -> None:
    """The largest live set has 195,920 B; another part has sizes of which that is no multiple."""
    code, answer = answer_of(run_pack, Path("tests/data/cases/exact_wrong_bound.csv"))
    assert (code, answer["status"], answer["peak_bytes"], answer["lower_bound_bytes"]) == (
        0,
        "optimal",
        195_920,
        195_920,
    )


def test_exact_is_the_default_and_its_bound_is_verified(example: Path, run_pack: Call) -> None:
    _, answer = answer_of(run_pack, example)
    assert (answer["packer"], answer["certificate_verified"], bool(answer["proof"])) == ("exact", True, True)


def test_one_byte_less_is_proven_not_to_fit_and_says_why(
    tmp_path: Path, example: Path, run_pack: Call
) -> None:
    made = tmp_path / "out.csv"
    code, answer = answer_of(run_pack, example, "--capacity", "11", "-o", made)
    assert (code, answer["status"], answer["fits"]) == (1, "infeasible", False)
    assert answer["capacity_bytes"] == 11
    assert answer["lower_bound_bytes"] > 11
    assert not made.exists()
    code, out, err = run_pack(example, "--capacity", "9", "-o", made)
    assert code == 1
    assert "Status infeasible" in out
    assert "Cannot be placed together" in out
    assert "does not fit" in err
    assert "is not written" in err


def test_rows_come_back_with_offsets_that_are_right(tmp_path: Path, example: Path, run_pack: Call) -> None:
    made = tmp_path / "out.csv"
    assert run_pack(example, "--capacity=12", "--output", made)[0] == 0
    lines = made.read_text().splitlines()
    assert lines[0] == "id,lower,upper,size,offset"
    assert [line.rpartition(",")[0] for line in lines[1:]] == EXAMPLE.splitlines()[1:]
    table = read_packing(made, 12)
    assert Plan(table.hints).peak(table.problem) <= 12
    code, out, err = run_pack(made, "--packer", "naive")
    assert code == 0
    assert "hints at" not in err
    assert "12" in out


def test_hints_of_a_better_plan_are_kept(tmp_path: Path, run_pack: Call) -> None:
    path = tmp_path / "hinted.csv"
    path.write_text("id,lower,upper,size,hint\na,0,3,4,0\nb,3,9,4,0\n")
    code, answer = answer_of(run_pack, path, "--packer", "naive")
    assert (code, answer["peak_bytes"], answer["status"]) == (0, 4, "optimal")
    assert "hints at" in answer["notes"][0]
    path.write_text("id,lower,upper,size,hint\na,0,4,4,0\nb,3,9,4,2\n")
    code, answer = answer_of(run_pack, path, "--packer", "naive")
    assert (code, answer["peak_bytes"]) == (0, 8)
    assert "the hints make no plan" in answer["notes"][0]
    path.write_text("id,lower,upper,size,hint\na,0,3,4,0\nb,3,9,4,\n")
    assert "not all rows" in answer_of(run_pack, path, "--packer", "naive")[1]["notes"][0]


def test_unknown_within_the_limits_is_3(tmp_path: Path, run_pack: Call) -> None:
    """A first fit that fails proves nothing."""
    made = tmp_path / "out.csv"
    source = "guillotine:n=40,seed=1"
    code, answer = answer_of(run_pack, source, "--capacity", "1MiB", "--packer", "large-first", "-o", made)
    assert (code, answer["status"], answer["fits"]) == (3, "unknown", False)
    assert answer["peak_bytes"] > 1 << 20
    assert not made.exists()
    assert run_pack(source, "--capacity", "1MiB", "--packer", "large-first")[2].startswith("unknown:")


def test_an_empty_problem_needs_nothing(tmp_path: Path, run_pack: Call) -> None:
    path, made = tmp_path / "none.csv", tmp_path / "out.csv"
    path.write_text("id,lower,upper,size\n")
    for capacity in ((), ("--capacity", "0")):
        code, answer = answer_of(run_pack, path, *capacity, "-o", made, "--html", tmp_path / "p.html")
        assert (code, answer["status"], answer["peak_bytes"], answer["gap"]) == (0, "optimal", 0, 0)
        assert answer["offsets"] == {}
        assert made.read_text() == "id,lower,upper,size,offset\n"
    code, out, err = run_pack(path)
    assert (code, err) == (0, "")
    assert "0 buffers" in out


def test_a_page_and_a_document_are_written_whole(tmp_path: Path, example: Path, run_pack: Call) -> None:
    page, text = tmp_path / "p.html", tmp_path / "p.json"
    code, out, err = run_pack(example, "--html", page, "--json", text)
    assert (code, err) == (0, "")
    assert "12 B" in out
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert json.loads(text.read_text())["status"] == "optimal"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["example.csv", "p.html", "p.json"]


def test_broken_files_are_one_message_with_a_place(tmp_path: Path, run_pack: Call) -> None:
    path, made = tmp_path / "p.csv", tmp_path / "out.csv"
    path.write_text("id,lower,upper,size\na,0,1,2\x07\n")
    code, out, err = run_pack(path, "-o", made, "--json", "-")
    assert (code, out) == (2, "")
    assert f"{path}:2:8: the control character U+0007" in err
    assert "hint: " in err
    assert not made.exists()


def _claiming(monkeypatch: pytest.MonkeyPatch, **changes: object) -> None:
    """Let the packer claim what does not hold."""
    honest = solve

    def lying(*arguments: Any) -> Solved:
        return replace(honest(*arguments), **changes)  # type: ignore[arg-type]

    monkeypatch.setattr(packing, "solve", lying)


@pytest.mark.parametrize(
    "lie",
    [
        {"plan": Plan(dict.fromkeys(("b1", "b2", "b3", "b4", "b5"), 0))},
        {"status": "infeasible"},
        {"lower_bound": 13},
        {"certificate": LiveSet(13, 0, ("b1", "b3", "b5")), "lower_bound": 12},
        {"certificate": LiveSet(12, 0, ("b1", "b2", "b3"))},
    ],
)
def test_a_packer_that_lies_is_found_out(
    lie: dict[str, object], tmp_path: Path, example: Path, monkeypatch: pytest.MonkeyPatch, run_pack: Call
) -> None:
    _claiming(monkeypatch, **lie)
    made = tmp_path / "out.csv"
    code, out, err = run_pack(example, "-o", made, "--packer", "large-first")
    assert (code, out) == (70, "")
    assert "WrongClaim" in err
    assert not made.exists()


def test_a_bound_above_the_known_optimum_is_found_out(
    monkeypatch: pytest.MonkeyPatch, run_pack: Call
) -> None:
    _claiming(monkeypatch, status="infeasible", certificate=None)
    code, _, err = run_pack("guillotine:n=40,seed=1", "--capacity", "1MiB", "--packer", "large-first")
    assert code == 70
    assert "a plan of 1048576 bytes is known" in err


def test_help_names_every_column(run_pack: Call) -> None:
    from workloads.packing.problem_csv import OPTIONAL

    code, out, _ = run_pack("--help")
    assert code == 0
    for column in OPTIONAL:
        assert column in out
