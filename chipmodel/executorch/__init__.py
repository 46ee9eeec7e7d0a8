"""A memory planner for ExecuTorch, to pass as ``memory_planning_algo`` to its ``MemoryPlanningPass``.

Facts about ExecuTorch are those of version 1.5.1: exir/memory_planning.py, exir/emit/_emitter.py and
runtime/executor/method.cpp.
"""

from chipmodel.executorch.placement import ExecutorchAnswer
from chipmodel.executorch.planner import ExecutorchPlanner
from chipmodel.executorch.storage import ExecutorchMemory

__all__ = ["ExecutorchAnswer", "ExecutorchMemory", "ExecutorchPlanner"]
