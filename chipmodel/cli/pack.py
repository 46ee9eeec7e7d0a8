"""``chipmodel pack``: a packing problem from a CSV file, packed, checked, and written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chipmodel.cli.command import command
from chipmodel.cli.options import until_stopped
from chipmodel.cli.output import AnswerFiles, note
from chipmodel.cli.packing_source import CapacityOptions
from chipmodel.errors import EXIT_DOES_NOT_FIT, EXIT_DONE, EXIT_UNKNOWN
from chipmodel.pipeline.choices import PACK_SECONDS
from chipmodel.terminal.printing import remark

if TYPE_CHECKING:
    from chipmodel.answers.packing import PackingAnswer


@command
def pack(
    *,
    source: str,
    memory_limits: CapacityOptions,
    csv_file: str | None,
    files: AnswerFiles,
    time_limit: float | None,
    **asked: Any,
) -> int:
    """Give every buffer of FILE.csv an offset, in as few bytes as possible or within --capacity.

    The columns are MiniMalloc's, in any order: id,lower,upper,size. Buffers alive at a common position
    of [lower, upper) share no byte. Optional columns, whose cells may be empty:

    \b
      alignment   the offset is a multiple of it
      gaps        holes in the lifetime, when its bytes are free: 10-20 35-40
      hint        an offset of an earlier plan; if all rows have one (or an
                  offset) and that plan is correct, the answer is not worse
      pinned      the only offset that it may have
      memories    the names of --memory that it may lie in: fast;slow
      colocate    a label: buffers of one label get one offset, and may
                  overlap each other while they are alive (aliases)
      separate    ids that it never shares a byte with: a;b
      apart       ids that may not lie in the same memory: a;b

    Instead of a file, guillotine:n=100,seed=3 makes random buffers that leave no byte unused.

    Exit codes: 0 fits, 1 proven not to fit, 2 bad input, 3 unknown within the limits.

    \f
    # The smallest memory for the buffers of a file
    chipmodel pack buffers.csv -o packed.csv
    # A plan within 1 MiB, the same every time
    chipmodel pack buffers.csv --capacity 1MiB --node-limit 100000
    """
    from chipmodel.api.packing import pack as pack_buffers, search_seconds

    limit = until_stopped(search_seconds(time_limit, asked["node_limit"], asked["seed"], PACK_SECONDS))
    answer = pack_buffers(memory_limits.read(source, limit.grace), name=source, time_limit=limit, **asked)
    if csv_file and (answer.answer.plan is None or not answer.fits):
        note([f"{csv_file} is not written: there is no plan that fits"])
        csv_file = None
    files.give(answer, (csv_file, answer.to_csv))
    return _exit_code(answer.answer)


def _exit_code(answer: PackingAnswer) -> int:
    """The exit code, with the reason on stderr unless the plan fits."""
    if answer.fits:
        return EXIT_DONE
    if answer.status == "infeasible":
        capacity, bound = answer.problem.capacity, answer.lower_bound
        enough = capacity is not None and bound > capacity
        hint = f"--capacity {bound} at least" if enough else "more --capacity, or fewer constraints"
        remark(f"does not fit: it is proven that no plan does\n  hint: {hint}")
        return EXIT_DOES_NOT_FIT
    hint = "a longer --time-limit, another --seed or --packer, or more --capacity"
    remark(f"unknown: neither a plan that fits nor a proof against it\n  hint: {hint}")
    return EXIT_UNKNOWN
