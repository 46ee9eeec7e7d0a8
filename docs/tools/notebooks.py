"""Run the cells of a Jupyter notebook, and show a notebook as a page of the site.

    python -m docs.tools.notebooks docs/notebooks/first_network.ipynb          # print it as Markdown
    python -m docs.tools.notebooks --write docs/notebooks/first_network.ipynb  # run it, store its outputs

Cells run in one namespace of this process, so that neither Jupyter nor a kernel is needed; what a cell
prints and what its last expression is worth become its outputs, as Jupyter stores them (nbformat 4.5).
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from chipmodel.api.simulation import PLOTLY
from docs.tools.samples import ROOT, folder_of_commands

Notebook = dict[str, Any]


def read(file: Path) -> Notebook:
    """The notebook in a file."""
    found: Notebook = json.loads(file.read_text())
    return found


def text_of(notebook: Notebook) -> str:
    """The notebook as the text of its file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def executed(notebook: Notebook) -> Notebook:
    """The notebook with the outputs of all cells, which run in order in a folder of their own. Raises what a
    cell raises."""
    names: dict[str, object] = {}
    cells: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder, folder_of_commands(Path(folder)):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                number = 1 + sum(each["cell_type"] == "code" for each in cells)
                outputs = list(_outputs("".join(cell["source"]), names, number))
                cell = {**cell, "execution_count": number, "outputs": outputs}
            cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(source: str, names: dict[str, object], number: int) -> Iterator[dict[str, Any]]:
    """What a cell prints, and what its last expression is worth."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        yield {"name": "stdout", "output_type": "stream", "text": lines}
    if value is not None:
        yield {
            "data": _shown(value),
            "execution_count": number,
            "metadata": {},
            "output_type": "execute_result",
        }


def _shown(value: Any) -> dict[str, Any]:
    """A value in the forms that Jupyter would store: a figure of Plotly as its data."""
    if hasattr(value, "to_plotly_json"):
        kind = type(value).__name__
        figure = json.loads(value.to_json())
        return {PLOTLY: figure, "text/plain": [f"<{kind}: open the notebook in Jupyter to zoom and point>"]}
    if bundle := getattr(value, "_repr_mimebundle_", None):
        forms = bundle()
        return {
            PLOTLY: json.loads(json.dumps(forms[PLOTLY])),
            **{kind: forms[kind].splitlines(keepends=True) for kind in ("text/html", "text/plain")},
        }
    html = getattr(value, "_repr_html_", None)
    forms = {"text/html": html().splitlines(keepends=True)} if html else {}
    return {**forms, "text/plain": repr(value).splitlines(keepends=True)}


def markdown(notebook: Notebook) -> str:
    """The notebook as Markdown: text, code, and outputs below it."""
    return "\n\n".join(part for cell in notebook["cells"] for part in _parts(cell))


def _parts(cell: Mapping[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        if "text/html" in output.get("data", ()):
            yield "".join(output["data"]["text/html"]).rstrip()
            continue
        text = "".join(output["text"] if "text" in output else output["data"]["text/plain"])
        yield f"```text\n{text.rstrip()}\n```"


@click.command()
@click.option("--write", is_flag=True, help="Run it and store its outputs.")
@click.argument("files", nargs=-1, required=True)
def main(write: bool, files: tuple[str, ...]) -> None:
    """Print the notebooks FILES as Markdown, or run them."""
    for name in files:
        file = ROOT / name
        if write:
            file.write_text(text_of(executed(read(file))))
        else:
            click.echo(markdown(read(file)))


if __name__ == "__main__":
    main(standalone_mode=False)
