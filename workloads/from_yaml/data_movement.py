"""Data-moving, viewing and custom ops of a YAML workload -> the builder, their sizes checked."""

from __future__ import annotations

from chipmodel.model.work import Vector
from workloads.build.shapes import Value
from workloads.from_yaml import op_models as models
from workloads.from_yaml.build_context import Site, declare, rows_across
from workloads.from_yaml.compute_ops import build  # with all that is registered there

__all__ = ["build"]


@build.register
def _(op: models.Concat, site: Site) -> tuple[Value, ...]:
    site.same_dtypes()
    axis = site.axis(op.axis, "axis")
    first = site.x.shape
    for index, value in enumerate(site.inputs):
        others = (*value.shape[:axis], *value.shape[axis + 1 :])
        if others != (*first[:axis], *first[axis + 1 :]) or len(value.shape) != len(first):
            what = f"'{value.name}' is {list(value.shape)} and '{site.x.name}' {list(first)}"
            site.refuse(what, f"all sizes but those of axis {axis} must be equal", "in", index)
    shape = (*first[:axis], sum(v.shape[axis] for v in site.inputs), *first[axis + 1 :])
    rows = rows_across(first, axis)
    return (site.builder.vector("concat", site.name, site.inputs, shape, rows=rows, outputs=site.outputs),)


@build.register
def _(op: models.Split, site: Site) -> tuple[Value, ...]:
    axis = site.axis(op.axis, "axis")
    shape, count = site.x.shape, len(op.out)
    sizes = op.sizes if op.sizes is not None else [shape[axis] // count] * count
    if op.sizes is None and shape[axis] % count:
        site.refuse(f"{shape[axis]} along axis {axis} is no multiple of {count}", "give 'sizes'", "out")
    if len(sizes) != count or sum(sizes) != shape[axis]:
        what = f"{len(sizes)} sizes, {sum(sizes)} in all, for {count} outputs of {shape[axis]}"
        site.refuse(what, f"give {count} sizes that sum to {shape[axis]}", "sizes")
    shapes = [(*shape[:axis], s, *shape[axis + 1 :]) for s in sizes]
    rows = rows_across(shape, axis)
    return site.builder.vectors("split", site.name, [site.x], shapes, rows=rows, outputs=site.outputs)


@build.register
def _(op: models.Slice, site: Site) -> tuple[Value, ...]:
    axis = site.axis(op.axis, "axis")
    size = site.x.shape[axis]
    start, stop = (i + size if i < 0 else i for i in (op.start, size if op.stop is None else op.stop))
    if not 0 <= start < stop <= size:
        what = f"[{start}, {stop}) of axis {axis}, which has size {size}"
        site.refuse(what, f"take 0 <= start < stop <= {size}", "start" if op.stop is None else "stop")
    shape = (*site.x.shape[:axis], stop - start, *site.x.shape[axis + 1 :])
    rows = rows_across(shape, axis)
    moved = Value(site.name, shape, site.x.dtype)
    # Only the range is read.
    work = Vector(moved.elements, moved.bytes, moved.bytes, rows)
    return site.builder.emit("slice", site.name, work, [site.x], [shape], outputs=site.outputs)


@build.register
def _(op: models.Transpose, site: Site) -> tuple[Value, ...]:
    if sorted(op.order) != list(range(len(site.x.shape))):
        what = f"the order {op.order} of '{site.x.name}', which has shape {list(site.x.shape)}"
        site.refuse(what, f"name each of the axes 0 to {len(site.x.shape) - 1} once", "order")
    shape = [site.x.shape[axis] for axis in op.order]
    return (site.builder.vector("transpose", site.name, [site.x], shape, outputs=site.outputs),)


@build.register
def _(op: models.Pad, site: Site) -> tuple[Value, ...]:
    for key, amounts in (("before", op.before), ("after", op.after)):
        if len(amounts) != len(site.x.shape):
            what = f"{len(amounts)} amounts for '{site.x.name}', which has shape {list(site.x.shape)}"
            site.refuse(what, f"give {len(site.x.shape)} numbers, one an axis", key)
    shape = [b + s + a for b, s, a in zip(op.before, site.x.shape, op.after, strict=True)]
    return (site.builder.vector("pad", site.name, [site.x], shape, outputs=site.outputs),)


@build.register
def _(op: models.Resize, site: Site) -> tuple[Value, ...]:
    site.rank((3, 4), "[N, C, H, W] or [N, C, L]")
    image = site.x.shape[2:]
    if (op.scale is None) == (op.size is None):
        site.refuse("takes either 'scale' or 'size'", "give one of the two", "scale")
    size = op.size if op.size is not None else [s * (op.scale or 1) for s in image]
    if len(size) != len(image):
        what = f"a size of {len(size)} numbers for '{site.x.name}', which has shape {list(site.x.shape)}"
        site.refuse(what, f"give {len(image)}", "size")
    shape = (*site.x.shape[:2], *size)
    return (site.builder.vector("resize", site.name, [site.x], shape, outputs=site.outputs),)


@build.register
def _(op: models.BlockMove, site: Site) -> tuple[Value, ...]:
    site.rank((4,), "[N, C, H, W]")
    n, c, h, w = site.x.shape
    block = op.block
    if op.op == "depth_to_space":
        fits, shape = c % (block * block) == 0, (n, c // (block * block), h * block, w * block)
    else:
        fits, shape = h % block == 0 and w % block == 0, (n, c * block * block, h // block, w // block)
    if not fits:
        divided = "its square must divide the channels"
        if op.op == "space_to_depth":
            divided = "it must divide height and width"
        site.refuse(f"a block of {block} for {list(site.x.shape)}", divided, "block")
    return (site.builder.vector(op.op, site.name, [site.x], shape, outputs=site.outputs),)


@build.register
def _(op: models.Copy, site: Site) -> tuple[Value, ...]:
    return (site.builder.elementwise("copy", site.name, [site.x], outputs=site.outputs),)


@build.register
def _(op: models.View, site: Site) -> tuple[Value, ...]:
    if op.op == "flatten":
        if op.shape is not None:
            site.refuse("flatten gives [N, features]", "use 'reshape' for another shape", "shape")
        return (site.builder.flatten(site.x),)
    if op.shape is None:
        site.refuse("does not say its shape", "add shape: [...]; one size may be -1", "op")
    if not op.shape or 0 in op.shape or op.shape.count(-1) > 1:
        site.refuse(f"the shape {op.shape}", "give positive sizes; one of them may be -1", "shape")
    return (site.builder.reshape(site.x, op.shape),)


@build.register
def _(op: models.Custom, site: Site) -> tuple[Value, ...]:
    builder = site.builder
    outputs = tuple(
        declare(builder, name, spec, site.document, (*site.path, "out", name), is_input=False)
        for name, spec in op.out.items()
    )
    weights: list[str] = []
    if op.weights is not None:
        weights.append(builder.raw_weight(f"{site.name}.weights", site.bytes(op.weights, "weights")))
    builder.custom(site.name, site.inputs, outputs, rows=op.rows, weights=weights)
    return outputs
