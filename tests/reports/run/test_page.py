from reports.run.page import render_page
from reports.template import PLOTLY_FILE
from tests.reports.pages import MOST_BYTES, data_of, read
from tests.reports.sample import large, sample


def test_a_page_may_share_plotlys_script_with_others() -> None:
    alone, beside = render_page(sample()), render_page(sample(), plotly="beside")
    assert [a["src"] for _, a in read(beside).tags if "src" in a] == [PLOTLY_FILE]
    assert len(beside) < len(alone) / 5
    assert data_of(beside) == data_of(alone)
    for page, sources in ((alone, "'unsafe-inline'"), (beside, "'unsafe-inline' 'self' file:")):
        assert f"default-src 'none'; script-src {sources}; style-src" in page


def test_names_are_text_and_never_markup() -> None:
    html = render_page(sample())
    reader = read(html)
    assert [tag for tag, _ in reader.tags].count("script") == 5
    assert "<script>alert" not in html
    text = "".join(reader.text)
    assert "dw<script>alert('x')</script>&amp;</b>" in text
    assert "[bold red]head[/] {{ 7*7 }} %{x}" in text
    assert "datasheet V1.8, table 3 <b>not bold</b>" in text


def test_a_large_result_stays_small_enough_to_mail() -> None:
    html = render_page(large(4_000))
    assert len(html.encode()) < MOST_BYTES
    assert "events are drawn as" in html


def test_ops_that_did_not_run_are_marked() -> None:
    idle = [
        attributes
        for tag, attributes in read(render_page(sample())).tags
        if tag == "tr" and "class" in attributes
    ]
    assert idle == [{"class": "idle"}]
