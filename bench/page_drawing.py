"""How large the two largest pages are, and how long headless Chromium takes to draw them.

    python -m bench.page_drawing [--repeats 5] [--chromium /usr/bin/chromium]

The page of a run of some 20,000 events (five inferences of ResNet-50) and that of a study of 300 points, both
made by the command line. Printed: median and largest wall time from opening a page until it says that all is
drawn, and the CPU time of its main thread; then, for a page of 2,000 ops and for one of a single row, the CPU
time of a click until the browser has painted its answer, until everything is drawn, and the longest task.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from playwright.sync_api import Browser, sync_playwright

ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run")
STUDY = """
title: Heuristics on random rectangles
workloads: [{instances}]
packers: [large-first, short-first, greedy-best-fit, conflict-first, free-list,
          buckets, pool, linear, naive, sequential]
"""
INSTANCES = 30
"""Packings of the study, each with ten packers."""
OPS = 2_000
QUIET_MS = 3_000
ROW = """<!doctype html><html data-ready><table><tr><td>op</td></tr></table><p></p><script>
document.querySelector("tr").onclick = () => { document.querySelector("p").textContent = "op"; };</script>"""
"""A page of which a click changes one line."""
LONG_TASKS = """() => { window.longTasks = []; new PerformanceObserver((list) => {
  longTasks.push(...list.getEntries().map((task) => task.duration)); }).observe({ type: "longtask" }); }"""
CLICK = """async (target) => {
  document.querySelectorAll(target)[0].dispatchEvent(new MouseEvent("click", { bubbles: true }));
  await new Promise((next) => requestAnimationFrame(() => setTimeout(next))); }"""
CLICKS = {
    "a row of 2,000 ops": ("chain.html", "#ops tbody tr"),
    "a node of their network": ("chain.html", "#network .node[role=button]"),
    "the only row of a page": ("row.html", "tr"),
}
RUN = ("simulate", "zoo:resnet50", "--chip", "luna-arcs", "--set", "psram.bytes=32MiB", "--steady-state", "5")


def chipmodel(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "chipmodel", *arguments]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def pages(folder: Path) -> dict[str, Path]:
    """The pages by title, written into ``folder``."""
    chipmodel(folder, *RUN, "--html", "run.html")
    instances = ", ".join(f"'guillotine:n=60,seed={seed}'" for seed in range(INSTANCES))
    (folder / "study.yaml").write_text(STUDY.format(instances=instances))
    chipmodel(folder, "study", "study.yaml", "--store", "study.sqlite")
    chipmodel(folder, "report", "study.sqlite", "-o", "study.html")
    return {"a run of five inferences": folder / "run.html", "a study of 300 points": folder / "study.html"}


def drawn(browser: Browser, file: Path) -> tuple[float, float]:
    """Wall seconds until the page is drawn in a new tab, and CPU seconds of its main thread."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    session: Any = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    began = perf_counter()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    spent = perf_counter() - began
    answer: Any = session.send("Performance.getMetrics")
    page.close()
    return spent, next(float(m["value"]) for m in answer["metrics"] if m["name"] == "TaskDuration")


def chain(folder: Path) -> None:
    """Write the page of a chain of 2,000 ops."""
    ops = "".join(f"- {{op: relu, name: r{i}}}\n" for i in range(OPS))
    (folder / "chain.yaml").write_text(f"name: chain\ninputs: {{x: [1, 8]}}\nops:\n{ops}")
    chipmodel(folder, "simulate", "chain.yaml", "--html", "chain.html")


def clicked(browser: Browser, file: Path, target: str) -> tuple[float, float, float]:
    """Milliseconds that the main thread works on a click: until it has painted, until nothing is left to do,
    and in its longest task (of wall time, as browsers report it from 50 ms on)."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    session: Any = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    for network in page.locator("#network").all():
        network.scroll_into_view_if_needed()
    page.wait_for_timeout(QUIET_MS)
    page.evaluate(LONG_TASKS)
    began = _worked(session)
    page.evaluate(CLICK, target)
    painted = _worked(session) - began
    page.wait_for_timeout(QUIET_MS)
    done, longest = _worked(session) - began, float(page.evaluate("Math.max(0, ...longTasks)"))
    page.close()
    return painted, done, longest


def _worked(session: Any) -> float:
    """Milliseconds of CPU that the main thread has worked."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(1000 * float(m["value"]) for m in metrics if m["name"] == "TaskDuration")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=asked.chromium, args=list(ARGUMENTS))
        for title, file in pages(Path(name)).items():
            runs = [drawn(browser, file) for _ in range(asked.repeats)]
            wall, cpu = zip(*runs, strict=True)
            print(f"{title}: {file.stat().st_size / 1e6:.1f} MB")
            for what, spent in (("wall", wall), ("CPU", cpu)):
                print(f"  {what} time: median {median(spent):.2f} s, at most {max(spent):.2f} s")
        folder = Path(name)
        chain(folder)
        (folder / "row.html").write_text(ROW)
        for title, (page, target) in CLICKS.items():
            each = zip(*(clicked(browser, folder / page, target) for _ in range(asked.repeats)), strict=True)
            painted, done, longest = map(median, each)
            print(f"a click on {title}: {painted:.0f} ms of CPU until painted, {done:.0f} until drawn")
            print(f"  longest task {longest:.0f} ms")
        browser.close()


if __name__ == "__main__":
    main()
