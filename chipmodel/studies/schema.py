"""The keys of a study file as pydantic models: types and ranges; ``studies.study_file`` checks names."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from chipmodel.files.strict_model import StrictModel
from chipmodel.pipeline.choices import CASCADE_OFF, DEFAULT_PACKER, DEFAULT_STREAMER
from solvers.core.outcome import MOST_NODES, MOST_SECONDS, MOST_SEED


def _listed(value: Any) -> Any:
    """One value is a list of one."""
    return [value] if isinstance(value, str | int | float) else value


Text = Annotated[str, Field(min_length=1)]
Names = Annotated[list[Text], BeforeValidator(_listed), Field(min_length=1)]
Seeds = Annotated[
    list[Annotated[int, Field(ge=0, le=MOST_SEED)]], BeforeValidator(_listed), Field(min_length=1)
]
Values = Annotated[list[str | int | float], BeforeValidator(_listed), Field(min_length=1)]
FilterItem = dict[str, Values]
Items = list[Annotated[FilterItem, Field(min_length=1)]]


class FilterLists(StrictModel):
    """Which points of the product are asked."""

    include: Items = Field(default_factory=list[FilterItem])
    exclude: Items = Field(default_factory=list[FilterItem])


class RequirementKeys(StrictModel):
    """What every network of the study must keep to."""

    milliseconds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    microjoules: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    peak_bytes: Annotated[int, Field(ge=0)] | Text | None = None


class StudyFile(StrictModel):
    """A study file."""

    name: str = Field("", max_length=100)
    title: str = Field("", max_length=300)
    workloads: Names | None = None
    chips: Names = Field(default_factory=lambda: ["luna-arcs"])
    packers: Names = Field(default_factory=lambda: [DEFAULT_PACKER])
    merges: Names = Field(default_factory=lambda: ["conflict"])
    streamers: Names = Field(default_factory=lambda: [DEFAULT_STREAMER])
    cascades: Names = Field(default_factory=lambda: [CASCADE_OFF])
    seeds: Seeds = Field(default_factory=lambda: [0])
    set: dict[str, Values] = Field(default_factory=dict[str, list[str | int | float]])
    requirements: RequirementKeys = Field(default_factory=lambda: RequirementKeys())
    columns: dict[str, str | int | float] = Field(default_factory=dict[str, str | int | float])
    filters: FilterLists = Field(default_factory=FilterLists)
    same_buffers: bool | None = None
    time_limit: Annotated[float, Field(ge=0, le=MOST_SECONDS)] | None = None
    node_limit: Annotated[int, Field(ge=0, le=MOST_NODES)] | None = None
