"""One hostile file for a seed, and the command that is to refuse it or to live with it."""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

import yaml

from tests.fuzz.hostile.examples import MEMORIES, NETWORKS, Home, cores, home, quick, tables
from tests.fuzz.hostile.onnx_models import models, mutated_model
from tests.fuzz.hostile.stores import change_store
from tests.fuzz.hostile.tflite_models import mutated_words, tflite_models
from tests.fuzz.hostile.values import mutated_bytes, mutated_text, mutated_tree


@dataclass(frozen=True, slots=True)
class Hostile:
    """A file and the arguments of ``chipmodel`` that read it."""

    file: Path
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Workshop:
    """Where a hostile file is made: what is drawn, the valid examples, and a folder for it alone."""

    random: Random
    home: Home
    folder: Path

    def yaml(self, example: str, name: str = "hostile.yaml") -> Path:
        """A hostile variant of a YAML example."""
        if self.random.random() < 0.6:
            changed = mutated_tree(self.home.tree(example), self.random)
            text = yaml.safe_dump(changed, sort_keys=False, allow_unicode=True, width=10_000)
        else:
            text = mutated_text(self.home.text(example), self.random)
        return self.write(name, text)

    def json(self, example: str) -> Path:
        """A hostile variant of a JSON example."""
        if self.random.random() < 0.7:
            changed = mutated_tree(self.home.tree(example), self.random)
            text = json.dumps(changed, ensure_ascii=self.random.random() < 0.5)
        else:
            text = mutated_text(self.home.text(example), self.random)
        return self.write("hostile.json", text)

    def write(self, name: str, text: str | bytes) -> Path:
        """The file, now and then with changed bytes."""
        raw = text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
        if self.random.random() < 0.15:
            raw = mutated_bytes(raw, self.random)
        path = self.folder / name
        path.write_bytes(raw)
        return path

    def output(self, name: str) -> str:
        """A file that the command may write."""
        return str(self.folder / name)


def _workload(shop: Workshop) -> Hostile:
    name = shop.random.choice(NETWORKS)
    file = shop.yaml(f"{name}.yaml")
    return Hostile(file, _reading(shop, str(file), name))


def _reading(shop: Workshop, file: str, name: str) -> tuple[str, ...]:
    """A command that plans a workload."""
    chip, plain = cores(name), " ".join(quick(name))
    lines = (
        f"plan FILE {plain} -o {shop.output('p.json')}",
        "compare FILE --packers large-first,naive --streamer sync --json -",
        f"compare FILE --streamers sync,prefetch-greedy --html {shop.output('h.html')}",
        f"simulate FILE {plain} --steady-state 3 --order least-peak",
        "simulate FILE --packer greedy-best-fit --streamer ping-pong",
        f"simulate FILE {plain} --path gate=none,steps=2 --probability gate=0.5",
    )
    number = shop.random.randrange(9)
    if number >= len(lines) or (number == len(lines) - 1 and name != "tree"):
        return ("simulate", file, *quick(name), *_outputs(shop))
    words = tuple(file if word == "FILE" else word for word in lines[number].split())
    return words if plain in lines[number] else (*words, *chip)


def _outputs(shop: Workshop) -> tuple[str, ...]:
    """Now and then files of all kinds, so that names get into them."""
    if shop.random.random() < 0.8:
        return ()
    out = shop.output
    return ("--json", "-", "--plan", out("p.json"), "--trace", out("t.json"), "--html", out("h.html"))


def _chip(shop: Workshop) -> Hostile:
    file = shop.yaml("chip.yaml")
    if shop.random.random() < 0.4:
        return Hostile(file, ("chips", str(file)))
    return Hostile(file, ("simulate", shop.home.file("cnn.yaml"), "--chip", str(file), *quick("cnn")))


def _onnx(shop: Workshop) -> Hostile:
    raw = shop.random.choice(models())
    raw = mutated_bytes(raw, shop.random) if shop.random.random() < 0.2 else mutated_model(raw, shop.random)
    file = shop.folder / "hostile.onnx"
    file.write_bytes(raw)
    return Hostile(file, _reading(shop, str(file), "onnx"))


def _tflite(shop: Workshop) -> Hostile:
    raw = shop.random.choice(tflite_models())
    for _ in range(shop.random.choice([1, 1, 2, 5])):
        raw = (
            mutated_bytes(raw, shop.random) if shop.random.random() < 0.3 else mutated_words(raw, shop.random)
        )
    file = shop.folder / "hostile.tflite"
    file.write_bytes(raw)
    return Hostile(file, _reading(shop, str(file), "onnx"))


def _packing(shop: Workshop) -> Hostile:
    file = shop.write("hostile.csv", mutated_text(shop.home.text("problem.csv"), shop.random))
    packer = shop.random.choice(["large-first", "naive", "greedy-best-fit", "pool"])
    more = shop.random.choice([(), ("--json", "-"), ("--capacity", "40"), ("--html", shop.output("h.html"))])
    return Hostile(file, ("pack", str(file), *MEMORIES, "--packer", packer, "--node-limit", "50", *more))


def _plan(shop: Workshop) -> Hostile:
    name = shop.random.choice(NETWORKS)
    file = shop.json(f"{name}.plan")
    if shop.random.random() < 0.6:
        return Hostile(file, ("check", str(file), shop.home.file(f"{name}.yaml"), *cores(name)))
    core = ("--core", "0") if name == "cores" else ()
    if shop.random.random() < 0.5:
        network = shop.home.file(f"{name}.yaml")
        folder = str(shop.folder / "c")
        return Hostile(file, ("export", str(file), network, "--as", "c", *core, "--folder", folder))
    return Hostile(file, ("export", str(file), "--as", "minimalloc", *core, "-o", shop.output("out")))


def _answer(shop: Workshop) -> Hostile:
    file = shop.json("plain.answer")
    return Hostile(file, ("check", str(file), shop.home.file("problem.csv")))


def _store(shop: Workshop) -> Hostile:
    file = shop.folder / "hostile.sqlite"
    shutil.copy(shop.home.path / "study.sqlite", file)
    change_store(file, shop.random)
    if shop.random.random() < 0.2:
        file.write_bytes(mutated_bytes(file.read_bytes(), shop.random))
    study = shop.home.file("study.yaml")
    table = shop.output("out.csv")
    ways = (
        ("study", study, "--store", str(file), "--status"),
        ("study", study, "--store", str(file), "--status", "--export", table, "--json", "-"),
        ("report", str(file), "-o", shop.output("h.html")),
        ("report", str(file)),
    )
    return Hostile(file, shop.random.choice(ways))


def _study(shop: Workshop) -> Hostile:
    for name in ("cnn.yaml", "problem.csv"):
        shutil.copy(shop.home.path / name, shop.folder / name)
    file = shop.yaml("study.yaml")
    return Hostile(file, ("study", str(file), "--store", shop.output("s.sqlite"), "--status"))


def _result(shop: Workshop) -> Hostile:
    name = shop.random.choice(NETWORKS)
    file = shop.json(f"{name}.json")
    good = shop.home.file(f"{name}.json")
    ways = (
        ("diff", str(file), good),
        ("diff", good, str(file), "--json", "-"),
        ("export", str(file), "--as", "csv"),
    )
    return Hostile(file, shop.random.choice(ways))


def _measurements(shop: Workshop) -> Hostile:
    file = shop.write("hostile.csv", mutated_text(shop.random.choice(tables()), shop.random))
    command = shop.random.choice(["validate", "validate", "calibrate"])
    return Hostile(file, (command, str(file)))


def _profile(shop: Workshop) -> Hostile:
    file = shop.write("hostile.csv", mutated_text(shop.home.text("profile.csv"), shop.random))
    return Hostile(file, ("simulate", shop.home.file("cnn.yaml"), *quick("cnn"), "--profile", str(file)))


KINDS: Mapping[str, Callable[[Workshop], Hostile]] = {
    "workload": _workload,
    "chip": _chip,
    "onnx": _onnx,
    "tflite": _tflite,
    "packing": _packing,
    "plan": _plan,
    "answer": _answer,
    "store": _store,
    "study": _study,
    "result": _result,
    "measurements": _measurements,
    "profile": _profile,
}


def hostile_input(seed: int, folder: Path, kinds: tuple[str, ...] = tuple(KINDS)) -> tuple[str, Hostile]:
    """The kind and the hostile file of a seed, made in ``folder``."""
    kind = kinds[seed % len(kinds)]
    return kind, KINDS[kind](Workshop(Random(f"{kind} {seed}"), home(), folder))
