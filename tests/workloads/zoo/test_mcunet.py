"""MCUNet has the multiply-accumulates and parameters that its sources print."""

import pytest

from tests.support.networks import built_in

# Millions of multiply-accumulates and of parameters: the table of models of github.com/mit-han-lab/mcunet.
PRINTED = [
    ("mcunet?variant=in0&input=48", "6.4", "0.74"),
    ("mcunet?variant=in1&input=96", "12.8", "0.63"),
    ("mcunet?variant=in2&input=160", "67.3", "0.72"),
    ("mcunet", "81.8", "0.73"),
    ("mcunet?variant=in4&input=160", "125.9", "1.72"),
    ("mcunet?variant=mbv2&input=144", "23.5", "0.74"),
    ("mcunet?variant=proxyless", "38.3", "0.75"),
    ("mcunet?variant=vww1&input=80&classes=2", "11.6", "0.43"),
]
"""Of parameters it prints 0.01 M more for some, as it also counts what BatchNorm has."""
# "Common" in github.com/TinyPART/msf-CNN, msf_CNN_eval_models/result.json.
CHAINS = [
    ("mcunet?variant=mbv2_chain&input=144&body=chain", 18_909_490),
    ("mcunet?variant=vww1&input=80&body=chain", 11_578_496),
    ("mcunet?body=chain", 81_625_520),
]


@pytest.mark.parametrize(("network", "macs", "parameters"), PRINTED)
def test_printed_figures(network: str, macs: str, parameters: str) -> None:
    program = built_in(network)
    assert (f"{program.macs / 1e6:.1f}", f"{program.parameters / 1e6:.2f}") == (macs, parameters)


@pytest.mark.parametrize(("network", "macs"), CHAINS)
def test_chains_have_no_additions_and_the_multiply_accumulates_of_msf_cnn(network: str, macs: int) -> None:
    program = built_in(network)
    assert program.macs == macs
    assert not any(op.kind == "add" for op in program.ops())
