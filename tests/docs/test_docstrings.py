"""The examples in the docstrings of what ``import chipmodel`` offers are run."""

import doctest
import inspect

import pytest

import chipmodel as cm

OFFERED = {name: getattr(cm, name) for name in cm.__all__}
FUNCTIONS = {name: each for name, each in OFFERED.items() if inspect.isfunction(each)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_examples_are_right(name: str) -> None:
    runner = doctest.DocTestRunner()
    for example in doctest.DocTestFinder(recurse=False).find(FUNCTIONS[name], name, globs=dict(OFFERED)):
        runner.run(example)
    assert runner.summarize().failed == 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_described(name: str) -> None:
    said = inspect.getdoc(FUNCTIONS[name]) or ""
    lines = {word.strip("* ") for line in said.splitlines() if line[:1] != " " for word in line.split(",")}
    assert set(inspect.signature(FUNCTIONS[name]).parameters) <= lines
    assert "**options" not in said
