"""Print the keys of a study file, made from its schema.

python -m docs.tools.study_file
"""

from __future__ import annotations

from typing import Any, cast

from chipmodel.studies.schema import StudyFile
from docs.tools.markdown import code, table
from docs.tools.schema_text import takes

DEFAULTS = StudyFile(name="", title="")
MEANING = {
    "name": "Name of the study; the file's, if none is given.",
    "title": "The question that the study answers; the report's heading.",
    "workloads": "Built-in networks (`zoo:NAME`), bundled ONNX models (`onnx:NAME`), files relative to the "
    "study, `guillotine:n=60`, `minimalloc:NAME`; `*` stands for any text. Options follow a `?`: "
    "`model.onnx?dtype=int16&shape.data=1,3,224,224`, `buffers.csv?capacity=30KiB`, "
    "`zoo:ds_cnn?steady_state=8`.",
    "chips": "Presets and chip files, or `all`.",
    "packers": "Names of packers, or `all`.",
    "merges": "Names of mergers, or `all`.",
    "streamers": "Names of streamers, or `all`.",
    "cascades": "`off`, `auto`, or both: whether ops may run in stripes, one after another.",
    "seeds": "Seeds of planners that search.",
    "set": "Chip fields, each with its values: all combinations are points.",
    "requirements": "`milliseconds`, `microjoules` and `peak_bytes`: the most that a run of any network may "
    "take. The report says which designs meet them, the cheapest first.",
    "columns": "Columns of each design by formula, such as "
    "`area: 0.9*shared_memory.bytes/1MiB + 0.05*dma.channels`: numbers, sizes, chip fields, `+ - * /` and "
    "parentheses. The first says which of several designs is cheaper.",
    "filters": "`include` and `exclude`: lists of mappings such as "
    "`{packer: exact, workload: zoo:vgg*}`. A mapping matches a point where all of its keys do.",
    "same_buffers": "Whether all packers and mergers of a case pack the buffers of one schedule, that of "
    "packer `auto`; else each packer takes part in its own. By default, where there are several.",
    "time_limit": "Seconds for a point: half of them at most for its schedule, the rest for its packer. The "
    "bound and the simulation come on top. Of a packing: for planners that search; on several cores: for "
    "each plan of a core.",
    "node_limit": "Nodes of search instead: the same answer on every machine.",
}


def keys() -> str:
    """One row a key: what it takes, its default, its meaning."""
    forms = cast("dict[str, Any]", StudyFile.model_json_schema()["properties"])
    rows: list[list[str]] = []
    for key, form in forms.items():
        default = getattr(DEFAULTS, key)
        value = ", ".join(map(str, cast("list[object]", default))) if isinstance(default, list) else default
        shown = str(value) if isinstance(value, str | int | float) else ""
        rows.append([code(key), takes(form), code(shown) if shown else "", MEANING[key]])
    return table(["key", "takes", "default", "meaning"], rows)


if __name__ == "__main__":
    print(keys())
