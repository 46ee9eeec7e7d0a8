"""How large the code is: files, lines, lines of code and statements of each package and of the tests.

A line of code is no blank line, comment, docstring or import.

python -m bench.size
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("chipmodel", "solvers", "dma", "workloads", "reports")


def code_lines(text: str) -> int:
    """Lines of code."""
    others: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        told = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.Import | ast.ImportFrom) or (told and isinstance(node.value.value, str)):
            others.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return sum(bool(line) and not line.startswith("#") and number not in others for number, line in lines)


def size(folder: str) -> tuple[int, ...]:
    """Files, lines, lines of code and statements."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / folder).rglob("*.py"))]
    nodes = (node for text in texts for node in ast.walk(ast.parse(text)))
    counted = (sum(text.count("\n") for text in texts), sum(map(code_lines, texts)))
    return len(texts), *counted, sum(isinstance(n, ast.stmt) for n in nodes)


def main() -> None:
    sizes = {folder: size(folder) for folder in (*PACKAGES, "tests")}
    five = tuple(map(sum, zip(*(sizes[name] for name in PACKAGES), strict=True)))
    print("| | files | lines | code | statements |\n| --- | ---: | ---: | ---: | ---: |")
    for name, numbers in {**sizes, "the five packages": five}.items():
        print(f"| {name} | {' | '.join(f'{number:,}' for number in numbers)} |")


if __name__ == "__main__":
    main()
