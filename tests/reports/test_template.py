import re
from importlib.resources import files

from hypothesis import given, strategies as st

from chipmodel.terminal.escapes import printable
from reports.template import packed, plotly_script
from tests.reports.pages import unpacked


@given(st.text() | st.sampled_from(["</script>", "<!--<script>", "]]>", "\u2028&"]))
def test_packed_data_cannot_leave_its_element(text: str) -> None:
    assert unpacked(packed({"name": text})) == {"name": printable(text)}


def test_plotlys_script_has_the_major_version_of_its_python_package() -> None:
    whole = (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    heads = [text[:200] for text in (whole, plotly_script().decode())]
    assert len({found[1] for head in heads if (found := re.search(r"plotly\.js.* v(\d+)\.", head))}) == 1
    assert all("MIT license" in head for head in heads)
