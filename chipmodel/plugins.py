"""What plug-ins of other packages may import, and what they have to be: this module changes with care.

A plug-in is a module, or an object with the same attributes, that an entry point of an installed package
names. Its kind is the group of the entry point, its name the name of that:

* ``chipmodel.packers``: a ``PackerPlugin`` or ``SearchPackerPlugin``
* ``chipmodel.streamers``: a ``StreamerPlugin``
* ``chipmodel.npu_models``: an ``NpuModelPlugin``, the ``npu.model`` of a chip file
* ``chipmodel.importers``: an ``ImporterPlugin``, for files whose suffix is the name

A packer or streamer whose users may write ``NAME:SETTING`` has a function ``with_setting`` as well
(``DescribedPlugin``). Errors of the user's are raised as ``BadInput``. Whatever else is raised, and every
answer that does not hold, is an error that names the plug-in and its package.
"""

from chipmodel.entry_points import DescribedPlugin
from chipmodel.errors import BadInput
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.window import Window
from chipmodel.hardware.chip import Npu
from chipmodel.hardware.plugin_npu import Parameter
from chipmodel.model.plan import Buffer, Memory, Problem
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, SingleWork, Vector
from chipmodel.npu.plugin import NpuModelPlugin
from dma.schedule.forecast import ChainForecast, ChainTransfer
from dma.streamers.plugin import StreamerPlugin
from dma.streamers.weight_region import StepChain, WeightSlice, forecast_of
from solvers.core.outcome import Limits
from solvers.plugin import PackerPlugin, SearchPackerPlugin
from workloads.plugin import ImporterPlugin

__all__ = [
    "BadInput",
    "Buffer",
    "ChainForecast",
    "ChainTransfer",
    "Conv",
    "DescribedPlugin",
    "ImporterPlugin",
    "Interval",
    "Limits",
    "Matmul",
    "Memory",
    "Npu",
    "NpuModelPlugin",
    "Op",
    "PackerPlugin",
    "Parameter",
    "Pool",
    "Problem",
    "Program",
    "Recurrent",
    "SearchPackerPlugin",
    "SingleWork",
    "StepChain",
    "StreamerPlugin",
    "Vector",
    "WeightSlice",
    "Window",
    "forecast_of",
]
