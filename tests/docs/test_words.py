"""Words are counted where somebody wrote them, and hand-written pages stay short."""

import pytest

from docs.tools import words
from tests.support.folders import data

PAGE = data("small/page.txt")


def test_generated_parts_and_code_are_apart() -> None:
    written, made = words.counts(PAGE)
    assert (written, written + made) == (6, len(PAGE.split()))


def test_pages_stay_within_their_words(capsys: pytest.CaptureFixture[str]) -> None:
    words.main()
    last = capsys.readouterr().out.splitlines()[-1]
    assert int(last.split("|")[2].replace(",", "")) <= 45_000
