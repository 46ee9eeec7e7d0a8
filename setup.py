"""Build the compiled search, ``solvers/search/_kernel.cpp``; all else is in ``pyproject.toml``.

``python setup.py build_ext --inplace`` puts it next to its source: for a checkout that is not installed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from setuptools import Extension, setup

SEARCH, COLUMNS = Path("solvers", "search"), Path("solvers", "columns")
WINDOWS = sys.platform == "win32"
FLAGS = ["/std:c++17", "/O2"] if WINDOWS else ["-std=c++17", "-O3", "-g0", "-ffp-contract=off"]
"""Without contraction, which rounds once, not twice, on some machines: the search is the same on all."""
KERNEL = Extension(
    "solvers.search._kernel",
    sources=[str(SEARCH / "_kernel.cpp"), str(COLUMNS / "module.cpp")],
    depends=sorted(map(str, [*SEARCH.glob("*.h"), *COLUMNS.glob("*.h")])),
    language="c++",
    extra_compile_args=FLAGS,
    py_limited_api=True,
    optional=True,  # Where it cannot be built, heuristics and CP-SAT pack.
)

# A new folder for each build: in an old one, files that are no longer there would get into the wheel.
with TemporaryDirectory() as folder:
    setup(
        ext_modules=[KERNEL],
        options={
            "bdist_wheel": {"py_limited_api": "cp311"},
            "build": {"build_base": folder},
            "egg_info": {"egg_base": folder},
        },
    )
