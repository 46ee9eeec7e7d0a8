"""Einsum nodes that are matrix products, in the order of axes in which a matrix product reads and writes.

Source: https://onnx.ai/onnx/operators/onnx__Einsum.html.
"""

from __future__ import annotations

from dataclasses import replace

from chipmodel.records import dataclass
from workloads.from_onnx.graph import OnnxNode, unique_name
from workloads.from_onnx.runtime_operators import transpose


@dataclass(frozen=True, slots=True)
class EinsumProduct:
    """The indices of a product: of both operands and the result (``batch``), of the left and the result
    (``rows``), of both operands alone (``inner``), of the right and the result (``cols``)."""

    left: str
    right: str
    result: str
    batch: str
    rows: str
    inner: str
    cols: str

    @property
    def right_transposed(self) -> bool:
        """Whether the columns of the right operand come before its rows."""
        return bool(self.cols) and self.right == self.batch + self.cols + self.inner

    def ordered(self) -> EinsumProduct:
        """The same with all indices in the order of a matrix product."""
        right = self.right if self.right_transposed else self.batch + self.inner + self.cols
        left, result = self.batch + self.rows + self.inner, self.batch + self.rows + self.cols
        return replace(self, left=left, right=right, result=result)

    @property
    def equation(self) -> str:
        return f"{self.left},{self.right}->{self.result}"


def einsum_product(node: OnnxNode) -> EinsumProduct | None:
    """The product that an Einsum computes; None where it is something else."""
    equation = node.text("equation", "").replace(" ", "")
    terms, arrow, result = equation.partition("->")
    operands = terms.split(",")
    if len(operands) != 2 or len(node.inputs) != 2 or "." in equation:
        return None
    left, right = operands
    if not arrow:
        result = "".join(sorted(i for i in left + right if (left + right).count(i) == 1))
    if any(len(set(term)) < len(term) for term in (left, right, result)):
        return None
    inner = "".join(i for i in left if i in right and i not in result)
    if not inner or set(left + right) != set(result + inner):
        return None
    return EinsumProduct(
        left,
        right,
        result,
        batch="".join(i for i in result if i in left and i in right),
        rows="".join(i for i in result if i not in right),
        inner=inner,
        cols="".join(i for i in result if i not in left),
    )


def ordered_einsum(node: OnnxNode, taken: set[str]) -> list[OnnxNode]:
    """``node``, with transposes before and after it where it is a product in another order of axes."""
    product = einsum_product(node) if node.op == "Einsum" and not node.domain else None
    if product is None or product.ordered() == product:
        return [node]
    ordered = product.ordered()
    nodes: list[OnnxNode] = []
    inputs = list(node.inputs)
    for index, (have, want) in enumerate(((product.left, ordered.left), (product.right, ordered.right))):
        if have != want:
            inputs[index] = unique_name(f"{node.name}.operand", taken)
            order = [have.index(i) for i in want]
            nodes.append(transpose(node, node.input(index), inputs[index], order, taken))
    output = node.output
    if product.result != ordered.result:
        output = unique_name(f"{node.name}.product", taken)
    attributes = {"equation": ordered.equation}
    nodes.append(replace(node, inputs=tuple(inputs), outputs=(output,), attributes=attributes, stored=()))
    if output != node.output:
        order = [ordered.result.index(i) for i in product.result]
        nodes.append(transpose(node, output, node.output, order, taken))
    return nodes
