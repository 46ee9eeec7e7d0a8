"""The row of a study's store as a pydantic model: types and ranges of what a database may hold."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, Json

from chipmodel.answers.study_row import Status
from chipmodel.files.strict_model import StrictModel
from chipmodel.model.time_bound import PlanSpace

MAX_STORED = (1 << 63) - 1
"""The largest integer of a database."""

Count = Annotated[int, Field(ge=0, le=MAX_STORED)]
Time = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Key = Annotated[str, Field(min_length=1)]
Text = str


class StoredRow(StrictModel):
    """A point and its answer."""

    key: Key
    workload: Text
    chip: Text
    packer: Text
    merge: Text
    streamer: Text
    seed: Count
    overrides: Json[tuple[tuple[Text, Text], ...]]
    time_limit: Time | None
    node_limit: Count | None
    cascade: Text
    status: Status
    seconds: Time
    peak_bytes: Count | None
    peak_lower_bound_bytes: Count | None
    capacity_bytes: Count | None
    psram_bytes: Count | None
    psram_capacity_bytes: Count | None
    total_cycles: Count | None
    lower_bound_cycles: Count | None
    bound_space: PlanSpace | None
    sync_cycles: Count | None
    npu_busy_cycles: Count | None
    dma_busy_cycles: Count | None
    milliseconds: Time | None
    trajectory: Json[tuple[tuple[Time, Count | None, Count], ...]]
    problem: Text
    error: Text


class StoredOwner(BaseModel):
    """A process that works on the study."""

    model_config = ConfigDict(strict=True, frozen=True)

    id: int
    host: Text
    pid: Annotated[int, Field(ge=1, lt=1 << 31)]
    started: Text
    beat: Time
