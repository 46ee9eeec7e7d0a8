"""The packages are the ones that a user's Python finds, import downwards only, and hide no import."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

import networkx
import pytest

import chipmodel
from chipmodel.cli.main import COMMANDS, commands
from tests.support.folders import ROOT

PACKAGES = ("chipmodel", "solvers", "dma", "workloads", "reports")
HEAVY = {
    *("distributed", "jinja2", "onnx", "ortools", "plotly", "pyarrow", "pydantic", "rich"),
    *("tflite", "yaml"),
}
"""Packages that take long to import: what needs them may be imported where it is used."""
LATE = {
    *("chipmodel.npu.luna_op", "chipmodel.paths.run", "chipmodel.pipeline.order_search"),
    *("chipmodel.pipeline.plan_export", "chipmodel.pipeline.unmerged", "chipmodel.verify.plan_file"),
    *("reports.run.chrome_trace", "reports.run.document", "reports.run.page", "solvers.search.complete"),
    *("workloads.build.builder", "workloads.from_onnx.program"),
    *("workloads.from_tflite.program", "workloads.zoo"),
}
"""Ours, imported where they are used though they import nothing heavy: what few commands need, and takes
hundredths of a second."""
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
}


def imports(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """What a module imports, by full name, and whether it does so inside a function."""

    def inside(node: ast.AST, function: bool) -> Iterator[tuple[str, bool]]:
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.Import(names):
                    yield from ((alias.name, function) for alias in names)
                case ast.ImportFrom(str(module), names):
                    found = (f"{module}.{alias.name}" for alias in names)
                    yield from ((full if full in MODULES else module, function) for full in found)
                case _:
                    yield from inside(child, function or isinstance(child, ast.FunctionDef))

    return inside(tree, False)


@cache
def trees() -> dict[str, ast.Module]:
    """Every module's syntax, read when a test asks for it: collecting the tests takes no time for it."""
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


@cache
def all_imports() -> dict[str, tuple[tuple[str, bool], ...]]:
    """What each module imports."""
    return {name: tuple(imports(tree)) for name, tree in trees().items()}


def graph() -> networkx.DiGraph[str]:
    """Who imports whom of our own modules, also from inside of functions."""
    ours = ((a, b) for a, found in all_imports().items() for b, _ in found)
    return networkx.DiGraph([(a, b) for a, b in ours if b in MODULES and a != b])


def heavy_modules() -> set[str]:
    """Our own modules that import a heavy package as soon as they are imported."""
    tops = {a: {b for b, inside in found if not inside} for a, found in all_imports().items()}
    own = {a for a, found in tops.items() if HEAVY & {b.split(".")[0] for b in found}}
    heavy = own
    while more := {a for a, found in tops.items() if found & heavy} - heavy:
        heavy = heavy | more
    return heavy


@pytest.mark.parametrize("name", PACKAGES)
def test_packages_resolve_to_this_project_from_an_empty_folder(name: str, tmp_path: Path) -> None:
    """Plain names such as ``solvers`` could be somebody else's package. The environment may be that of
    another checkout of this project, as in a git worktree; but all of its packages are of one checkout."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import chipmodel, {name}; print(chipmodel.__file__); print({name}.__file__)",
        ],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    ours, named = map(Path, found.stdout.splitlines())
    installed = ours.parent.parent
    assert named == installed / name / "__init__.py"
    assert (installed / "chipmodel" / "errors.py").is_file()


def test_the_version_is_said_once() -> None:
    assert version("chipmodel") == chipmodel.__version__


def test_packages_import_downwards_only() -> None:
    """The contracts in ``pyproject.toml``, which are exhaustive: a new package has to be given a layer."""
    tool = Path(sys.executable).parent / "lint-imports"
    result = subprocess.run([tool], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


@pytest.mark.slow
def test_every_folder_of_modules_is_a_package_that_says_what_its_files_share() -> None:
    folders = {path.parent for path in MODULES.values()}
    for folder in sorted(folders):
        name = ".".join(folder.relative_to(ROOT).parts)
        assert name in MODULES, f"{folder} has no __init__.py"
        assert ast.get_docstring(trees()[name]), f"{name} says nothing"


def test_no_import_cycle_not_even_one_hidden_in_a_function() -> None:
    cycles = [sorted(group) for group in networkx.strongly_connected_components(graph())]
    assert [group for group in cycles if len(group) > 1] == []


def test_only_what_is_heavy_is_imported_inside_a_function() -> None:
    """And what a command runs, so that its options are there without it."""
    heavy = heavy_modules()
    modules = {a: found for a, found in all_imports().items() if not a.startswith("chipmodel.cli.")}
    hidden = {(a, b) for a, found in modules.items() for b, inside in found if inside and b in MODULES}
    assert sorted((a, b) for a, b in hidden if b not in heavy | LATE) == []


def test_a_class_name_means_one_thing() -> None:
    classes = (n for tree in trees().values() for n in ast.walk(tree) if isinstance(n, ast.ClassDef))
    names = Counter(node.name.lstrip("_") for node in classes)
    assert sorted(name for name, number in names.items() if number > 1) == []


def test_help_imports_nothing_but_itself() -> None:
    code = "import sys; from chipmodel.cli.main import commands; commands(['--help'], standalone_mode=False);"
    code += "print(' '.join(sorted(sys.modules)), file=sys.stderr)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(result.stderr.split())
    assert not loaded & (HEAVY | {"numpy", "networkx"})
    ours = {name for name in loaded if name.split(".")[0] in PACKAGES}
    terminal = {
        f"chipmodel.terminal{name}" for name in ("", ".escapes", ".printing", ".progress", ".streams")
    }
    cli = {f"chipmodel.cli{name}" for name in ("", ".help_page", ".main")}
    assert ours == {"chipmodel", *cli, "chipmodel.errors", "chipmodel.records", *terminal}


def loaded_by(*commands_: str) -> set[str]:
    """The modules that are there after commands in one process, which may end with a usage error."""
    code = "import sys; from chipmodel.cli.main import commands\nfor command in sys.argv[1:]:\n"
    code += "    try: commands(command.split(), standalone_mode=False)\n"
    code += "    except Exception as error: assert 'nonsense' in str(error)\n"
    code += "print('modules:', *sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code, *commands_], capture_output=True, text=True, check=True
    )
    return set(result.stdout.rpartition("modules:")[2].split())


def test_a_usage_error_imports_nothing_that_plans() -> None:
    loaded = loaded_by(*(f"{name} --nonsense" for name in COMMANDS))
    unknown_network = loaded_by("simulate zoo:nonsense --chip stm32n6") - {"yaml"}
    assert not unknown_network & (HEAVY | {"numpy", "chipmodel.model", "dma", "solvers", "reports"})
    assert not loaded & (HEAVY | {"numpy", "networkx", "importlib.metadata"})
    assert not {name.split(".")[0] for name in loaded} & {"dma", "solvers", "reports"}
    ours = {name.split(".")[1] for name in loaded if name.startswith("chipmodel.")}
    assert ours == {"cli", "errors", "files", "pipeline", "records", "studies", "terminal"}


def test_the_list_of_chips_imports_nothing_of_programs() -> None:
    loaded = loaded_by("chips")
    assert loaded & HEAVY == {"rich", "yaml"}
    assert not loaded & {"numpy", "networkx", "chipmodel.model", "chipmodel.geometry", "dma", "solvers"}


@pytest.mark.slow
def test_a_simulation_imports_nothing_that_it_does_not_need() -> None:
    loaded = loaded_by("simulate zoo:resnet18 --chip stm32n6")
    assert loaded & HEAVY == {"rich", "yaml"}
    assert not loaded & {"networkx", "importlib.metadata", "email"}
    assert loaded & LATE == {"solvers.search.complete", "workloads.build.builder", "workloads.zoo"}
    models = {name for name in loaded if name.startswith("chipmodel.npu.")}
    assert models == {f"chipmodel.npu.{name}" for name in ("array", "cycles", "least_costs", "models")}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_is_where_the_table_says(name: str) -> None:
    with commands.make_context("chipmodel", [name], resilient_parsing=True) as context:
        command = commands.get_command(context, name)
    assert command is not None
    assert command.name == name
    assert command.help


def test_nothing_is_said_in_words_that_only_we_know() -> None:
    dialect = re.compile(r"(?<!round )\b(mends?|trips?|anew|under way|(?<!-)S[0-4](?!-))\b")
    for path in MODULES.values():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            assert not dialect.search(line), f"{path}:{number}: {line}"


def test_only_the_terminal_package_prints() -> None:
    """All else goes through ``chipmodel.terminal.printing``, where names are made harmless."""
    prints = {"echo", "secho", "echo_via_pager", "confirm", "prompt", "progressbar", "print_exc"}
    for module, tree in trees().items():
        if module.startswith("chipmodel.terminal") or module == "chipmodel.verify.bound_checker":
            continue  # the checker is a program of its own, which imports nothing
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Name(id="print" | "Console" as name)):
                    raise AssertionError(f"{module}:{node.lineno}: {name}")
                case ast.Call(func=ast.Attribute(attr=name)) if name in prints:
                    raise AssertionError(f"{module}:{node.lineno}: {name}")
                case ast.Attribute(
                    ast.Name("sys"), "stdout" | "stderr" | "__stdout__" | "__stderr__" as name
                ):
                    raise AssertionError(f"{module}:{node.lineno}: sys.{name}")
                case _:
                    pass


def architecture() -> str:
    return (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_the_map_of_the_architecture_names_what_is_there_on_a_screen_and_a_half() -> None:
    text = architecture()
    assert len(text.splitlines()) <= 100
    named = set(re.findall(r"`([\w./]+/[\w./]*)`", text))
    assert len(named) > 20
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_the_signatures_of_the_flow_are_the_code_s() -> None:
    """Ten functions, each with the names, types and defaults of its parameters, and what it returns."""
    files = re.findall(r"^# ([\w/]+)\.py: ", architecture(), re.MULTILINE)
    (block,) = re.findall(r"```python\n(.*?)```", architecture(), re.DOTALL)
    drawn = [node for node in ast.parse(block).body if isinstance(node, ast.FunctionDef)]
    assert len(drawn) == 10
    for file, function in zip(files, drawn, strict=True):
        module = importlib.import_module(file.replace("/", "."))
        code = ast.parse(inspect.getsource(getattr(module, function.name))).body[0]
        assert isinstance(code, ast.FunctionDef)
        assert ast.unparse(function.args) == ast.unparse(code.args), file
        assert ast.unparse(function.returns or code) == ast.unparse(code.returns or code), file


def test_the_map_of_the_architecture_draws_imports_that_there_are() -> None:
    """Every arrow of the picture is an import, and every package of ``chipmodel`` is in it."""
    text = architecture()
    labels = dict(re.findall(r"(\w+)\[\"([^:]+)", text))
    arrows = re.findall(r"^  (\w+)(?:\[[^\]]*\])? --> (\w+)", text, re.MULTILINE)
    edges = [(f"{a}.", f"{b}.") for a, found in all_imports().items() for b, _ in found if b in MODULES]
    for arrow in arrows:
        above, below = (
            tuple(f"{place.replace('/', '.')}." for place in labels[end].split(", ")) for end in arrow
        )
        assert any(a.startswith(above) and b.startswith(below) for a, b in edges), arrow
    packages = {path.name for path in (ROOT / "chipmodel").iterdir() if (path / "__init__.py").exists()}
    assert {name for name in packages if f"chipmodel/{name}" not in text} == set()


def test_docstrings_begin_with_their_subject_or_verb() -> None:
    """One that begins with "Of" or "By" continues a thought that the reader does not have."""
    begun = [
        f"{name}:{each.lineno}"
        for name, tree in trees().items()
        for each in ast.walk(tree)
        if isinstance(each, ast.Expr)
        and isinstance(each.value, ast.Constant)
        and isinstance(each.value.value, str)
        and each.value.value.startswith(("Of ", "By ", "As ", "Its ", "Chosen"))
    ]
    assert begun == []
