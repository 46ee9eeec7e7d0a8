import re

from reports.run.notebook import MOST_OPS, notebook_html
from tests.reports.pages import read
from tests.reports.sample import EVIL, sample


def test_a_notebook_shows_the_slowest_ops_as_text() -> None:
    html = notebook_html(sample(), "It <fits>.")
    reader = read(html)
    text = "".join(reader.text)
    assert "It <fits>." in text
    assert EVIL in text
    assert [tag for tag, _ in reader.tags].count("tr") == 1 + MOST_OPS
    cycles = [int(n.replace(",", "")) for n in re.findall(r"</td><td>[\d,]+</td><td>([\d,]+)</td>", html)]
    assert cycles == sorted(cycles, reverse=True)
    assert "4 more ops" in text
    assert html == notebook_html(sample(), "It <fits>.")
