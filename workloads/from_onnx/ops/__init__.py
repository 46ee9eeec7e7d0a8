"""Handlers of ONNX operators, by family."""
