"""Options and settings of the whole test suite."""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("project", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("project")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write what is printed now into the expected files"
    )
