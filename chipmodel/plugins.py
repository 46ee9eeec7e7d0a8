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

from chipmodel.entry_points import DescribedPlugin as DescribedPlugin
from chipmodel.errors import BadInput as BadInput
from chipmodel.geometry.interval import Interval as Interval
from chipmodel.geometry.window import Window as Window
from chipmodel.hardware.chip import Npu as Npu
from chipmodel.hardware.plugin_npu import Parameter as Parameter
from chipmodel.model.plan import Buffer as Buffer, Memory as Memory, Problem as Problem
from chipmodel.model.program import Op as Op, Program as Program
from chipmodel.model.work import (
    Conv as Conv,
    Matmul as Matmul,
    Pool as Pool,
    Recurrent as Recurrent,
    SingleWork as SingleWork,
    Vector as Vector,
)
from chipmodel.npu.plugin import NpuModelPlugin as NpuModelPlugin
from dma.schedule.forecast import ChainForecast as ChainForecast, ChainTransfer as ChainTransfer
from dma.streamers.plugin import StreamerPlugin as StreamerPlugin
from dma.streamers.weight_region import (
    StepChain as StepChain,
    WeightSlice as WeightSlice,
    forecast_of as forecast_of,
)
from solvers.core.outcome import Limits as Limits
from solvers.plugin import PackerPlugin as PackerPlugin, SearchPackerPlugin as SearchPackerPlugin
from workloads.plugin import ImporterPlugin as ImporterPlugin
