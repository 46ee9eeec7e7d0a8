"""Hostile files of every kind: each is refused or answered, never an internal error or a raw escape byte.

For each seed a valid example (workload, chip, ONNX model, packing, plan, answer, store, study, result, table)
is changed in one to three places and given to the command that reads it, in this process. With ``--limits``
each command runs in a process of its own, with at most that many seconds of CPU time and MiB more memory.
"""

import os
import pickle
import resource
import shutil
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.fuzzer import Check, Fault
from tests.fuzz.hostile.call import Ended, call, fault_of
from tests.fuzz.hostile.examples import home
from tests.fuzz.hostile.inputs import KINDS, Hostile, hostile_input

COUNT = 500


def check(
    seed: int, kinds: tuple[str, ...] = tuple(KINDS), run: Callable[[Hostile], str] | None = None
) -> Counter[str]:
    """Try one seed. Raises Fault where the command ends in a way that it never should."""
    with TemporaryDirectory(prefix="chipmodel-fuzz-") as folder:
        kind, hostile = hostile_input(seed, Path(folder), kinds)
        code, fault = _result((run or _here)(hostile))
        if fault:
            raise Fault(f"{kind}: chipmodel {' '.join(hostile.arguments)}: {fault}")
    return Counter({f"{kind} {'answered' if code in ('0', '1', '3') else 'refused'}": 1})


def _result(text: str) -> tuple[str, str]:
    code, _, fault = text.partition(" ")
    return code, fault


def _here(hostile: Hostile) -> str:
    ended: Ended = call(hostile.arguments)
    return f"{ended.code} {fault_of(ended, hostile.arguments)}"


def limited(seconds: int, mebibytes: int) -> Callable[[Hostile], str]:
    """Runs a command in a process of its own that the system ends at its limits."""

    def run(hostile: Hostile) -> str:
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            _limit(seconds, mebibytes)
            with os.fdopen(write, "wb") as pipe:
                pipe.write(pickle.dumps(_here(hostile)))
                pipe.flush()
                os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            said = pipe.read()
        _, status = os.waitpid(child, 0)
        if said:
            return str(pickle.loads(said))
        how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"code {os.WEXITSTATUS(status)}"
        return f"70 ended by {how}, within {seconds} s of CPU time and {mebibytes} MiB"

    return run


def _limit(seconds: int, mebibytes: int) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + (mebibytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def search(parser: ArgumentParser, arguments: Sequence[str]) -> Check:
    parser.add_argument(
        "--kind", choices=[*KINDS], action="append", help="only files of this kind; repeatable"
    )
    parser.add_argument("--limits", nargs=2, type=int, metavar=("SECONDS", "MIB"), help="of each command")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the file of the first seed there, as well"
    )
    given = parser.parse_args(arguments)
    kinds = tuple(given.kind or KINDS)
    home()
    run = limited(*given.limits) if given.limits else _here

    def kept(hostile: Hostile) -> str:
        if given.keep:
            shutil.copy(hostile.file, given.keep)
        return run(hostile)

    return lambda seed: check(seed, kinds, kept)
