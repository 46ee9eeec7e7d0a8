"""Layouts that files of code are written from, and names in C."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.plan_file.contents import PlanFile
from reports.export.c_names import LONGEST_PREFIX, commented, identifiers, prefix_of
from reports.export.layout import layout_of, must_fit
from tests.reports.plan_files import BUFFERS, plan


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (replace(plan(), peak_bytes=223), "its peak is 223 B, but its buffers end at 224"),
        (replace(plan(), alignment=0), "its alignment is 0"),
        (replace(plan(), buffers=(*BUFFERS, BUFFERS[0])), "two buffers have the name 'x'"),
    ],
)
def test_contradicting_numbers_are_refused(wrong: PlanFile, what: str) -> None:
    with pytest.raises(BadInput, match=what):
        layout_of(wrong, "p.json")


def test_a_plan_that_does_not_fit_is_refused_where_it_must_fit() -> None:
    with pytest.raises(DoesNotFit, match="needs 224 B of 200 B"):
        must_fit(layout_of(plan(capacity=200), "p"), "p")
    must_fit(layout_of(plan(capacity=224), "p"), "p")


@pytest.mark.parametrize(
    ("workload", "prefix"),
    [
        ("zoo:resnet18", "resnet18"),
        ("nets/ResNet-18.onnx", "resnet_18"),
        ("C:\\nets\\a b.yaml", "a_b"),
        ("7net.yaml", "net_7net"),
        ("../größe", "gr_e"),
        ("", "net"),
        ("_畳_", "net"),
        ("x" * 99, "x" * LONGEST_PREFIX),
    ],
)
def test_prefixes(workload: str, prefix: str) -> None:
    assert prefix_of(workload) == prefix


@given(st.text())
def test_a_prefix_begins_an_identifier(workload: str) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]{0,23}", prefix_of(workload))


@given(st.lists(st.text(alphabet="aA_.-1é2", max_size=6), unique=True, max_size=40), st.integers(4, 12))
def test_no_two_names_make_one_identifier(names: list[str], longest: int) -> None:
    found = identifiers(names, longest)
    assert list(found) == names
    assert len(set(found.values())) == len(names)
    assert all(re.fullmatch(r"[A-Z0-9_]+", word) and len(word) <= longest for word in found.values())


def test_equal_words_are_numbered_in_order() -> None:
    assert identifiers(["a.b", "a-b", "A_B_2", "a b"], 9) == {
        "a.b": "A_B",
        "a-b": "A_B_2",
        "A_B_2": "A_B_2_2",
        "a b": "A_B_3",
    }


@given(st.text() | st.sampled_from(["*/", "/*", "??/\n", "\\\n", "//\\"]))
def test_a_comment_stays_a_comment(text: str) -> None:
    assert not set(commented(text)) & set('*?\\\n\r"')
