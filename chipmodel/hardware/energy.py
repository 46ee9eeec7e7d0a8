"""What a chip's work costs in energy: the numbers of ``energy`` in a chip file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from chipmodel.hardware.field_values import Values, read_as
from chipmodel.hardware.further_memories import GROUP, memory_names
from chipmodel.records import dataclass

STATIC = "leakage"
COUNTED: Mapping[str, str] = {
    "cycle": "clock",
    "npu_cycle": "NPU computes",
    "cpu_cycle": "CPU computes",
    "mac_int8": "MACs of 8 bits",
    "mac_int16": "MACs of 16 bits",
    "mac_int32": "MACs of 32 bits",
    "weight_byte": "weights loaded",
    "loaded_byte": "tensors loaded",
    "stored_byte": "tensors stored",
    "read_byte": "SharedMemory read",
    "written_byte": "SharedMemory written",
}
"""What is counted, by its field in ``energy.pj``, with its name in reports."""


@dataclass(frozen=True, slots=True)
class EnergyCosts:
    """``energy.model: counted``: so much energy for all that is counted, and for the time that it takes.

    The numbers hold at ``nominal_volts``. At ``volts`` what is counted takes (volts / nominal_volts)^2 of it:
    the charge of a circuit's capacitances. Leakage is the same at any supply, as no measurement tells more.
    """

    volts: Fraction
    nominal_volts: Fraction
    static_mw: Fraction
    """Power in milliwatts for as long as the run lasts."""
    pj: Mapping[str, Fraction]
    """Picojoules of each thing in ``COUNTED``, and of ``further_bytes`` where the chip file has them."""

    def __hash__(self) -> int:
        """A hash of a few numbers: mappings have none."""
        return hash((self.volts, self.static_mw))

    def picojoules(self, counted: Mapping[str, int], microseconds: Fraction) -> dict[str, float]:
        """Energy by cause, without causes that take none."""
        scale = (self.volts / self.nominal_volts) ** 2
        parts = {STATIC: 1000 * self.static_mw * microseconds}
        parts |= {COUNTED.get(key, key): scale * pj * counted.get(key, 0) for key, pj in self.pj.items()}
        return {name: float(part) for name, part in parts.items() if part}


def energy_of(values: Values) -> EnergyCosts | None:
    """The fields ``energy`` of a chip file; None for a chip whose energy is not known."""
    if values["energy.model"] == "unknown":
        return None
    pj = {key: values[f"energy.pj.{key}"] for key in COUNTED}
    further = further_bytes(memory_names(values)).items()
    pj |= {key: values[path] for path, key in further if path in values}
    return read_as(EnergyCosts, "energy", values, pj=pj)


def further_bytes(memories: Iterable[str]) -> dict[str, str]:
    """What is counted of further memories, by the paths of their fields."""
    ways = [(name, *way) for name in memories for way in (("load", "read"), ("store", "written"))]
    return {f"{GROUP}.{name}.{way}.pj_per_byte": f"{name} {done}" for name, way, done in ways}
