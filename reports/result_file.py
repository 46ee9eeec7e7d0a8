"""The JSON document of ``chipmodel simulate --json``, read back for ``diff`` and ``export``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from fractions import Fraction

from chipmodel.answers.op_totals import OpTotals
from chipmodel.errors import BadInput, Place
from chipmodel.files.json_file import JsonValue, read_json
from chipmodel.files.json_record import COUNT, JsonRecord
from chipmodel.records import dataclass

FORMAT = "chipmodel-result/1"
"""The version of the documents of ``simulate --json``; a key that changes its meaning makes another."""
SETTINGS = ("workload", "chip", "packer", "merge", "streamer", "order", "cascades")
OWN_READERS = ("order", "cascades")
"""Settings that are no texts in a document."""
TOTALS = (
    *("total_cycles", "lower_bound_cycles", "sync_cycles", "compute_cycles", "stall_cycles", "dma_cycles"),
    *("hidden_cycles", "peak_bytes", "peak_lower_bound_bytes", "capacity_bytes", "psram_bytes"),
    *("loaded_bytes", "stored_bytes", "weight_bytes", "executed_macs"),
)
"""Numbers of a whole run by their keys, which end in their units."""
UNITS = {"cycles": "cycles", "bytes": "B", "macs": "MACs"}
OPTIONAL_TOTALS = ("sync_cycles",)
"""What a document has only where it was requested."""


@dataclass(frozen=True, slots=True)
class SavedResult:
    """One run. ``spent`` are the cycles of all NPUs together, by cause of waiting and under ``compute``: they
    add up to the run's cycles times its cores."""

    file: str
    settings: Mapping[str, str]
    chip_fields: Mapping[str, str]
    path: Mapping[str, str]
    core_mhz: Fraction
    cores: int
    fits: bool
    totals: Mapping[str, int]
    spent: Mapping[str, int]
    moved_bytes: Mapping[str, int]
    ops: tuple[OpTotals, ...]
    core_of: Mapping[str, int] = field(default_factory=dict[str, int])
    """The core of each op, by name, on a chip with several."""

    @property
    def cycles(self) -> int:
        """Cycles of the run, in the core's clock."""
        return self.totals["total_cycles"]

    @property
    def side(self) -> dict[str, object]:
        """What a difference says of it."""
        run = {"cores": self.cores, "fits": self.fits, "total_cycles": self.cycles}
        return {"file": self.file, **self.settings, **run, "milliseconds": self.milliseconds}

    @property
    def milliseconds(self) -> Fraction:
        """Milliseconds of the run."""
        return self.cycles / (self.core_mhz * 1000)


_OP = JsonRecord(OpTotals, codecs={int: COUNT}, others=True)


def is_result(root: JsonValue) -> bool:
    """Whether a JSON file is the result of a simulation, by its ``format``."""
    return isinstance(root.value, dict) and root.has("format") and root.at("format").value == FORMAT


def read_result(text: str, file: str) -> SavedResult:
    """The run in ``text``. Raises BadInput, with line and column, for broken JSON, other documents, results
    of other versions, and sums that do not add up."""
    return saved_result(read_json(text, file, _hint()))


def saved_result(root: JsonValue) -> SavedResult:
    """The run in a JSON file that has been read; raises as ``read_result`` does."""
    _check_format(root)
    spent = {"compute": root.at("compute_cycles").count(), **root.at("stalls").values(JsonValue.count)}
    cores = root.at("cores").each(_ops_of_core) if root.has("cores") else ()
    answer = SavedResult(
        file=root.file,
        settings={
            **{key: root.at(key).text() for key in SETTINGS if key not in OWN_READERS},
            "order": _order(root),
            "cascades": _cascades(root),
        },
        chip_fields=root.at("chip_fields").values(JsonValue.text),
        path=root.at("path").values(JsonValue.text),
        core_mhz=_clock(root.at("core_mhz")),
        cores=len(cores) or 1,
        fits=root.at("fits").flag(),
        totals={key: root.at(key).count() for key in TOTALS if root.has(key) or key not in OPTIONAL_TOTALS},
        spent=spent,
        moved_bytes=root.at("moved_bytes").values(JsonValue.count),
        ops=_ops(root.at("ops")),
        core_of={name: number for number, names in enumerate(cores) for name in names},
    )
    npu_cycles = answer.cycles * answer.cores
    if sum(spent.values()) != npu_cycles:
        root.at("stalls").fail(
            f"computing and waiting add up to {sum(spent.values()):,} cycles of the NPU, "
            f"and the run has {npu_cycles:,}"
        )
    return answer


def _check_format(root: JsonValue) -> None:
    root.mapping()
    if not root.has("total_cycles"):
        (root.at("format") if root.has("format") else root).fail(f"this is not a {FORMAT} document")
    if not root.has("format"):
        older = f"this result is from an older version of chipmodel: it has no format, and must have {FORMAT}"
        raise BadInput(older, where=Place(root.file, 1, 1), hint=_hint())
    if root.at("format").text() != FORMAT:
        root.at("format").fail(f"{root.at('format').text()!r} is not the format of this version, {FORMAT}")


def _ops_of_core(node: JsonValue) -> tuple[str, ...]:
    return node.at("ops").each(JsonValue.text)


def _order(root: JsonValue) -> str:
    """The order of ops, which a document has only where it was chosen."""
    return root.at("order").at("chosen").text() if root.has("order") else "given"


def _cascades(root: JsonValue) -> str:
    """The names of all cascades; ``none`` also for documents of versions that knew none."""
    names = root.at("cascades").each(lambda node: node.at("name").text()) if root.has("cascades") else ()
    return ", ".join(names) or "none"


def _clock(node: JsonValue) -> Fraction:
    clock = Fraction(node.number()).limit_denominator(1_000_000)
    if clock <= 0:
        node.fail(f"a clock of {node.number():g} MHz is less than 1 Hz")
    return clock


def _ops(node: JsonValue) -> tuple[OpTotals, ...]:
    names: set[str] = set()

    def read(item: JsonValue) -> OpTotals:
        op = _OP.read(item)
        if op.name in names:
            item.at("name").fail(f"two ops have the name {op.name!r}")
        names.add(op.name)
        return op

    return node.each(read)


def _hint() -> str:
    return "write it with: chipmodel simulate WORKLOAD --json FILE, or to_json() of a simulation"
