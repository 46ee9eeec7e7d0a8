"""Build the data-moving, viewing and custom ops of a YAML workload, with checks of their sizes."""

from __future__ import annotations

from chipmodel.model.attributes import AxisOrder, Margins, PixelBlocks, Scaling, SliceRanges
from chipmodel.model.work import Vector
from workloads.build.shapes import Value, rows_across
from workloads.from_yaml import op_models as models
from workloads.from_yaml.build_context import BuildContext, build_op, declare


@build_op.register
def _(op: models.ConcatOp, ctx: BuildContext) -> Value:
    ctx.same_dtypes()
    axis = ctx.axis(op.axis, "axis")
    first = ctx.x.shape
    for index, value in enumerate(ctx.inputs):
        others = (*value.shape[:axis], *value.shape[axis + 1 :])
        if others != (*first[:axis], *first[axis + 1 :]) or len(value.shape) != len(first):
            what = f"'{value.name}' is {list(value.shape)} and '{ctx.x.name}' {list(first)}"
            ctx.refuse(what, f"all sizes but those of axis {axis} must be equal", "in", index)
    return ctx.builder.concat(ctx.name, ctx.inputs, axis, ctx.outputs)


@build_op.register
def _(op: models.SplitOp, ctx: BuildContext) -> tuple[Value, ...]:
    axis = ctx.axis(op.axis, "axis")
    shape, count = ctx.x.shape, len(op.out)
    sizes = op.sizes if op.sizes is not None else [shape[axis] // count] * count
    if op.sizes is None and shape[axis] % count:
        ctx.refuse(f"{shape[axis]} along axis {axis} is not a multiple of {count}", "give 'sizes'", "out")
    if len(sizes) != count or sum(sizes) != shape[axis]:
        what = f"{len(sizes)} sizes, {sum(sizes)} in all, for {count} outputs of {shape[axis]}"
        ctx.refuse(what, f"give {count} sizes that sum to {shape[axis]}", "sizes")
    return ctx.builder.split(ctx.name, ctx.x, sizes, axis, ctx.outputs)


@build_op.register
def _(op: models.SliceOp, ctx: BuildContext) -> tuple[Value, ...]:
    axis = ctx.axis(op.axis, "axis")
    size = ctx.x.shape[axis]
    start, stop = (i + size if i < 0 else i for i in (op.start, size if op.stop is None else op.stop))
    if not 0 <= start < stop <= size:
        what = f"[{start}, {stop}) of axis {axis}, which has size {size}"
        ctx.refuse(what, f"take 0 <= start < stop <= {size}", "start" if op.stop is None else "stop")
    shape = (*ctx.x.shape[:axis], stop - start, *ctx.x.shape[axis + 1 :])
    rows = rows_across(shape, axis)
    moved = Value(ctx.name, shape, ctx.x.dtype)
    # Only the range is read.
    starts = tuple(start if i == axis else 0 for i in range(len(shape)))
    ranges = SliceRanges(starts, (1,) * len(shape))
    work = Vector(moved.elements, moved.bytes, moved.bytes, rows, attributes=ranges)
    return ctx.emit("slice", work, shape)


@build_op.register
def _(op: models.TransposeOp, ctx: BuildContext) -> Value:
    if sorted(op.order) != list(range(len(ctx.x.shape))):
        what = f"the order {op.order} of '{ctx.x.name}', which has shape {list(ctx.x.shape)}"
        ctx.refuse(what, f"name each of the axes 0 to {len(ctx.x.shape) - 1} once", "order")
    shape = [ctx.x.shape[axis] for axis in op.order]
    order = AxisOrder(tuple(op.order))
    return ctx.vector("transpose", shape, attributes=order)


@build_op.register
def _(op: models.PadOp, ctx: BuildContext) -> Value:
    for key, amounts in (("before", op.before), ("after", op.after)):
        if len(amounts) != len(ctx.x.shape):
            what = f"{len(amounts)} amounts for '{ctx.x.name}', which has shape {list(ctx.x.shape)}"
            ctx.refuse(what, f"give {len(ctx.x.shape)} numbers, one an axis", key)
    shape = [b + s + a for b, s, a in zip(op.before, ctx.x.shape, op.after, strict=True)]
    margins = Margins(tuple(op.before))
    return ctx.vector("pad", shape, attributes=margins)


@build_op.register
def _(op: models.ResizeOp, ctx: BuildContext) -> Value:
    ctx.rank((3, 4), "[N, C, H, W] or [N, C, L]")
    image = ctx.x.shape[2:]
    if (op.scale is None) == (op.size is None):
        ctx.refuse("takes either 'scale' or 'size'", "give one of the two", "scale")
    size = op.size if op.size is not None else [s * (op.scale or 1) for s in image]
    if len(size) != len(image):
        what = f"a size of {len(size)} numbers for '{ctx.x.name}', which has shape {list(ctx.x.shape)}"
        ctx.refuse(what, f"give {len(image)}", "size")
    shape = (*ctx.x.shape[:2], *size)
    rounded = op.mode != "nearest" or op.corners != "asymmetric"
    scaling = Scaling(op.mode, op.corners, rounded)
    return ctx.vector("resize", shape, attributes=scaling)


@build_op.register
def _(op: models.SpaceDepthOp, ctx: BuildContext) -> Value:
    ctx.rank((4,), "[N, C, H, W]")
    n, c, h, w = ctx.x.shape
    block = op.block
    if op.op == "depth_to_space":
        fits, shape = c % (block * block) == 0, (n, c // (block * block), h * block, w * block)
    else:
        fits, shape = h % block == 0 and w % block == 0, (n, c * block * block, h // block, w // block)
    if not fits:
        divided = "its square must divide the channels"
        if op.op == "space_to_depth":
            divided = "it must divide height and width"
        ctx.refuse(f"a block of {block} for {list(ctx.x.shape)}", divided, "block")
    return ctx.vector(op.op, shape, attributes=PixelBlocks(block))


@build_op.register
def _(op: models.CopyOp, ctx: BuildContext) -> Value:
    return ctx.builder.elementwise("copy", ctx.name, [ctx.x], outputs=ctx.outputs)


@build_op.register
def _(op: models.ViewOp, ctx: BuildContext) -> Value:
    if op.op == "flatten":
        if op.shape is not None:
            ctx.refuse("flatten gives [N, features]", "use 'reshape' for another shape", "shape")
        return ctx.builder.flatten(ctx.x)
    if op.shape is None:
        ctx.refuse("does not say its shape", "add shape: [...]; one size may be -1", "op")
    if not op.shape or 0 in op.shape or op.shape.count(-1) > 1:
        ctx.refuse(f"the shape {op.shape}", "give positive sizes; one of them may be -1", "shape")
    return ctx.builder.reshape(ctx.x, op.shape)


@build_op.register
def _(op: models.CustomOp, ctx: BuildContext) -> tuple[Value, ...]:
    builder = ctx.builder
    outputs = tuple(
        declare(builder, name, spec, ctx.document, (*ctx.path, "out", name), is_input=False)
        for name, spec in op.out.items()
    )
    weights: list[str] = []
    if op.weights is not None:
        weights.append(builder.raw_weight(f"{ctx.name}.weights", ctx.bytes(op.weights, "weights")))
    builder.custom(ctx.name, ctx.inputs, outputs, rows=op.rows, weights=weights)
    return outputs
