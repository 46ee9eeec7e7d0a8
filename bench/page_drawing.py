"""How large the two largest pages are, and how long headless Chromium takes to draw them.

    python -m bench.page_drawing [--repeats 5] [--chromium /usr/bin/chromium]

The page of a run of some 20,000 events (five inferences of ResNet-50) and that of a study of 300 points, both
made by the command line. Printed: median and largest wall time from opening a page until it says that all is
drawn, and the CPU time of its main thread.
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
        browser.close()


if __name__ == "__main__":
    main()
