"""The command line that repeats one point of a study."""

from __future__ import annotations

from shlex import quote

from chipmodel.answers.study_row import Point

SEARCHES = (
    "auto",
    "context-evolutionary",
    "context-rl",
    "hill-climb",
    "state-search",
    "exact",
    "search",
    "cp-sat",
)
"""The packers that search and take limits."""


def command_line(point: Point) -> str:
    """The command for the same plan, to be typed in the folder of the study file."""
    plain, options = _split(point)
    words = ["chipmodel", "simulate" if point.chip else "pack", _file(plain)]
    if point.chip:
        words += [*options, "--chip", quote(point.chip)]
        words += [word for name, value in point.overrides for word in ("--set", quote(f"{name}={value}"))]
        words += ["--packer", quote(point.packer), "--merge", quote(point.merge)]
        return " ".join([*words, "--streamer", quote(point.streamer), "--cascade", quote(point.cascade)])
    words += ["--packer", quote(point.packer), *_limits(point)]
    return " ".join(words)


def command_note(point: Point) -> str:
    """How the command differs from the study, in a sentence; empty if it does not."""
    if not point.chip or not (_limits(point) or point.packer in SEARCHES):
        return ""
    within = f" within {' '.join(_limits(point))}" if _limits(point) else ""
    return f"The study searched for the smallest peak{within}; simulate stops at the first plan that fits."


def _limits(point: Point) -> list[str]:
    words = [] if point.time_limit is None else ["--time-limit", f"{point.time_limit:g}"]
    words += [] if point.node_limit is None else ["--node-limit", str(point.node_limit)]
    return words + (["--seed", str(point.seed)] if point.seed else [])


def _split(point: Point) -> tuple[str, list[str]]:
    """The workload without a study's settings after its ``?``, and these as options of ``simulate``."""
    plain, _, query = point.workload.partition("?")
    own: list[str] = []
    options: list[str] = []
    for part in query.split("&") if query else ():
        key, _, value = part.partition("=")
        kind, _, name = key.partition(".")
        if kind == "dtype":
            options += ["--dtype", quote(value)]
        elif kind in ("shape", "iterations") and name:
            options += [f"--{kind}", quote(f"{name}={value}")]
        elif kind == "steady_state":
            options += ["--steady-state", quote(value)]
        elif key != "capacity":
            own.append(part)
    return plain + (f"?{'&'.join(own)}" if own else ""), options


def _file(plain: str) -> str:
    kind, _, name = plain.partition(":")
    if kind == "minimalloc":
        return f'"$CHIPMODEL_MINIMALLOC"/{quote(name)}.*.csv'
    return quote(plain)
