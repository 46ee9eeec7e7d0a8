"""How large the code is: files, lines and statements of each package and of the tests.

python -m bench.size
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("chipmodel", "solvers", "dma", "workloads", "reports")


def size(folder: str) -> tuple[int, int, int]:
    """Files, lines and statements."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / folder).rglob("*.py"))]
    nodes = (node for text in texts for node in ast.walk(ast.parse(text)))
    return len(texts), sum(text.count("\n") for text in texts), sum(isinstance(n, ast.stmt) for n in nodes)


def main() -> None:
    sizes = {folder: size(folder) for folder in (*PACKAGES, "tests")}
    five = tuple(map(sum, zip(*(sizes[name] for name in PACKAGES), strict=True)))
    print("| | files | lines | statements |\n| --- | ---: | ---: | ---: |")
    for name, numbers in {**sizes, "the five packages": five}.items():
        print(f"| {name} | {' | '.join(f'{number:,}' for number in numbers)} |")


if __name__ == "__main__":
    main()
