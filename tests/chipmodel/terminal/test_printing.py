"""What reaches the terminal, whatever names say and whatever the stream's encoding is."""

import io
import sys

import pytest
from rich.live import Live
from rich.table import Table
from rich.text import Text

from chipmodel.terminal.printing import console, emit, note, remark, say
from chipmodel.terminal.streams import ERRORS, open_streams

RED = "\x1b[31m\u202enode"
SHOWN = "\\x1b[31m\\u202enode"


class Terminal(io.TextIOWrapper):
    """A stream that is a terminal, or not."""

    def __init__(self, encoding: str = "utf-8", tty: bool = True) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, errors=ERRORS, write_through=True)
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty

    def written(self) -> bytes:
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue()


def test_lines_and_notes_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"{RED}\nand more")
    remark(f"error: {RED}\n  hint: x")
    note(f"{RED}\nhint: format the disk")
    printed = capsys.readouterr()
    assert printed.out == f"{SHOWN}\nand more\n"
    assert printed.err == f"error: {SHOWN}\n  hint: x\nnote: {SHOWN}\\x0ahint: format the disk\n"


def test_a_document_is_itself_in_a_pipe_and_harmless_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding, tty, expected in (
        ("utf-8", False, f"{RED},µ\n".encode()),
        ("ascii", False, f"{RED},µ\n".encode()),
        ("utf-8", True, f"{SHOWN},µ\n".encode()),
        ("ascii", True, f"{SHOWN},\\xb5\n".encode()),
    ):
        stream = Terminal(encoding, tty)
        monkeypatch.setattr(sys, "stdout", stream)
        emit(f"{RED},µ\n")
        assert stream.written() == expected


def drawn(monkeypatch: pytest.MonkeyPatch, *what: object, encoding: str = "utf-8", tty: bool = False) -> str:
    stream = Terminal(encoding, tty)
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    console().print(*what)
    return stream.written().decode(encoding)


def test_cells_titles_and_sentences_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(title=f"{RED} [bold]:smile:")
    table.add_column(Text(RED))
    table.add_column(RED)
    table.add_row(Text(f"{RED}\nb"), RED)
    for what in (table, Text.assemble((RED, "bold"), ": one"), RED):
        for tty in (False, True):
            shown = drawn(monkeypatch, what, tty=tty)
            assert SHOWN in shown
            assert "\x1b[31m" not in shown
            assert "\u202e" not in shown
    assert f"{SHOWN}\\x0ab" in drawn(monkeypatch, table)
    assert "[bold]:smile:" in drawn(monkeypatch, table)


def test_no_line_ends_with_blanks(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(title="a title", box=None)
    table.add_column("name", style="bold")
    table.add_column("right", justify="right")
    table.add_row(Text("two words"), "1")
    table.add_row("one", "")
    for what in (table, Text("a sentence that is wrapped at 60 columns, " * 3), "plain words " * 20):
        lines = drawn(monkeypatch, what).splitlines()
        assert [line.rstrip() for line in lines] == lines
    assert "two words      1" in drawn(monkeypatch, table)
    assert "\x1b[1mone\x1b[0m\n" in drawn(monkeypatch, table, tty=True)


def test_styles_of_our_own_reach_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[1mfits" in drawn(monkeypatch, Text("fits", "bold"), tty=True)


def test_a_live_line_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with Live(Text(RED), console=console(stderr=True), transient=True):
        remark(f"{RED}\nmeanwhile")
    written = stream.written().decode()
    assert SHOWN in written
    assert "meanwhile" in written
    assert "\\x0a" not in written
    assert "\x1b[31m" not in written


def test_streams_take_any_text(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", plain)
    open_streams()
    say("\u00d7 \udcff é")
    assert isinstance(plain.buffer, io.BytesIO)
    assert plain.buffer.getvalue() == b"\\xd7 \\udcff \\xe9\n"


def test_nobody_reads_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Gone())
    remark("to nobody")
