"""Small valid files of every kind that chipmodel reads, and the commands that read them."""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from chipmodel.studies.answer import WorkerCache, answer
from chipmodel.studies.code_version import code_version
from chipmodel.studies.points import tasks_of
from chipmodel.studies.store import StudyHeader, opened
from chipmodel.studies.study_file import read_study
from chipmodel.studies.workload import load_workload
from tests.fuzz.hostile.call import call

CNN = """
name: cnn
inputs: {x: [1, 3, 16, 16]}
ops:
  - {op: conv, name: c1, channels: 8, kernel: 3, stride: 2, pad: same, activation: relu}
  - {op: depthwise_conv, name: d1, kernel: [3, 3], pad: [1, 1], weight_dtype: int4}
  - {op: conv, name: c2, in: d1, channels: 8, kernel: 1, groups: 2}
  - {op: add, name: sum, in: [c2, c1], in_place: true}
  - {op: max_pool, name: p, kernel: 2}
  - {op: concat, name: both, in: [p, p], axis: 1}
  - {op: flatten, name: flat}
  - {op: dense, name: classes, features: 10}
  - {op: softmax, name: out}
outputs: [out]
"""
TREE = """
name: tree
inputs: {x: [1, 16], frames: [4, 8], flag: {shape: [1], dtype: bool}}
ops:
  - {op: dense, name: h0, in: x, features: 8}
  - op: if
    name: gate
    condition: flag
    arms:
      face: {probability: 0.25, ops: [{op: dense, name: a, in: h0, features: 8}]}
      none: [{op: relu, name: b, in: h0}]
    outputs: {h1: {face: a, none: b}}
  - op: loop
    name: steps
    iterations: {1: 0.5, 4: 0.5}
    each: {frame: frames}
    carry: {h: {from: h1, next: h2}}
    ops:
      - {op: dense, name: i, in: frame, features: 8}
      - {op: add, name: h2, in: [h, i]}
outputs: [h]
"""
CORES = """
name: cores
inputs: {x: 64, y: [1, 8]}
ops:
  - {op: relu, name: a, in: x, core: 0}
  - {op: dense, name: b, in: y, features: 4, core: 1}
"""
PACKING = """id,lower,upper,size,alignment,gaps,pinned,memories,colocate,separate,apart,hint
a,0,3,12,4,,0,,,,,0
b,1,6,8,,2-3,,,g,,,
c,3,9,20,8,,,,,a,,
d,4,9,8,,,,,g,,,
"""
CHIP = """
base: luna-arcs
name: mine
core_mhz: {value: 200, mark: assumed, source: a guess}
shared_memory:
  bytes: {value: 128 KiB, mark: assumed, source: a guess}
psram:
  clock_mhz: {value: 100, mark: assumed, source: a guess}
"""
STUDY = """
name: small
title: What is small?
workloads: [cnn.yaml, problem.csv]
chips: [luna-arcs]
packers: [large-first, naive]
streamers: [sync]
seeds: [0, 1]
set: {shared_memory.bytes: [64KiB, 128KiB]}
filters: {exclude: [{packer: naive, workload: problem*}]}
time_limit: 1
"""
TABLES = {
    "conv": "in_c,in_h,in_w,out_c,kernel_h,kernel_w,stride,pad_h,pad_w,cycles\n1,4,64,16,3,1,2,1,0,2590.0\n",
    "matmul": "rows,inner,cols,bits,cycles\n1,8,4,32,2311.0\n1,8,12,8,2288.0\n",
    "transfer": "route,bytes,core_cycles\ndma psram->shared,256,900\ndma shared->psram,1024,3000\n",
    "vector": "op,elements,cycles\nadd,128,550.0\nadd,512,598.0\n",
    "cdma": "data_bits,max_burst_beats,src,dst,bytes,cycles,read_bursts,write_bursts\n"
    "64,16,0,131072,64,16,1,1\n",
    "psram": "controller,command,is_read,bytes,wait_clocks,controller_cycles,sck_clocks\n"
    "EF_PSRAM_CTRL,QPI 38h write,0,1,0,22,10\n",
    "hyper": "sys_mhz,ck_mhz,latency_clocks,latency_multiple,max_burst_words,bytes,address,"
    "first_beat_sys_cycle,last_beat_sys_cycle,cs_low_count,ck_clocks\n100,100,3,1,65535,256,0,25,149,1,133\n",
}
PROFILE = "op,cycles\nc1,500\nclasses,70\n"


class Home:
    """A folder with a valid file of each kind, which chipmodel itself has written where it can."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="chipmodel-fuzz-")
        self.path = Path(self._folder.name)
        texts = {"cnn.yaml": CNN, "tree.yaml": TREE, "cores.yaml": CORES, "problem.csv": PACKING}
        for name, text in (*texts.items(), ("study.yaml", STUDY), ("chip.yaml", CHIP)):
            (self.path / name).write_text(text)
        for name in NETWORKS:
            plan, result = self.file(f"{name}.plan"), self.file(f"{name}.json")
            self._run("simulate", self.file(f"{name}.yaml"), *quick(name), "--plan", plan, "--json", result)
        problem = self.file("problem.csv")
        self._run("pack", problem, "--packer", "large-first", "--json", self.file("plain.answer"), *MEMORIES)
        self._store()

    def file(self, name: str) -> str:
        """The path of an example."""
        return str(self.path / name)

    def text(self, name: str) -> str:
        """The contents of an example."""
        return (self.path / name).read_text()

    def tree(self, name: str) -> Any:
        """The values of a YAML or JSON example."""
        return yaml.safe_load(self.text(name)) if name.endswith(".yaml") else json.loads(self.text(name))

    def _run(self, *arguments: str) -> None:
        ended = call(arguments)
        assert ended.code == 0, ended

    def _store(self) -> None:
        """A study that is answered but for one point."""
        study = read_study(self.path / "study.yaml")
        tasks = tasks_of(study)
        header = StudyHeader(study.name, study.title, study.file.name, study.text, code_version(), len(tasks))
        cache = WorkerCache(load_workload)
        with opened(self.path / "study.sqlite") as store:
            store.ask(header, [task.key for task in tasks])
            store.save([answer(task, cache) for task in tasks[1:]])


NETWORKS = ("cnn", "tree", "cores")
MEMORIES = ("--memory", "m=0-64", "--memory", "n=64-128")


def quick(name: str) -> tuple[str, ...]:
    """Options for the quickest plan of a network."""
    return ("--packer", "large-first", "--streamer", "sync", *cores(name))


def cores(name: str) -> tuple[str, ...]:
    """The option for as many cores as a network needs."""
    return ("--set", "cores=2") if name == "cores" else ()


@cache
def home() -> Home:
    """The examples of this process."""
    return Home()
