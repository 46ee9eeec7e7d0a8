"""The end of a command's process at a signal, whatever it is doing. Nothing here waits for a time: a process
that does not end hangs its test."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.folders import ROOT

BEGIN = "import os, signal, threading; from chipmodel.terminal.ending import end_after, end_at_signals; "
SEND = "os.kill(os.getpid(), {number}); "
FOREVER = "threading.Event().wait()"
DOES = {
    "at work": "while True: pass",
    "while it is asked for its best": "from chipmodel.terminal.stopping import stopping\nwith stopping(): "
    + SEND
    + FOREVER,
    "in an import": "import importlib.abc, sys\nclass Find(importlib.abc.MetaPathFinder):\n"
    " def find_spec(self, *_):\n  " + SEND + FOREVER + "\nsys.meta_path.insert(0, Find())\nimport nothing",
}


def ended(code: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("what", DOES)
def test_a_signal_ends_a_command_with_one_line(what: str, number: signal.Signals) -> None:
    # A shell's job in the background ignores SIGINT, and so would this process.
    heard = "signal.signal(signal.SIGINT, signal.default_int_handler); end_at_signals()\n"
    sent = SEND if what == "at work" else ""
    code = BEGIN + heard + (sent + "\n" + DOES[what]).format(number=int(number))
    assert ended(code) == (128 + number, "interrupted\n")


def test_an_ignored_signal_stays_ignored() -> None:
    code = BEGIN + "signal.signal(signal.SIGINT, signal.SIG_IGN); end_at_signals(); "
    assert ended(code + SEND.format(number=int(signal.SIGINT)) + "os._exit(5)") == (5, "")


def test_the_time_limit_ends_what_never_looks_at_it() -> None:
    assert ended(BEGIN + "end_at_signals(); end_after(0, 'over', 3); " + FOREVER) == (3, "over\n")


def test_who_reads_an_answer_may_take_any_time() -> None:
    code = "import chipmodel.terminal.ending as e; e.end_at_signals(); e.end_after(0, 'over', 3); "
    code += "timer = e._Command.timer; e.answer_is_there(); timer.join(); print('read', file=sys.stderr)"
    assert ended("import sys; " + code) == (0, "read\n")


def test_a_library_is_ended_by_nobody() -> None:
    code = "import chipmodel.terminal.ending as e; e.end_after(0, 'over', 3); assert e._Command.timer is None"
    assert ended(code) == (0, "")


def test_a_command_is_ended_in_its_imports_and_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n")
    command = [sys.executable, "-m", "chipmodel", "chips"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "interrupted\n")
