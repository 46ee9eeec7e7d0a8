"""The time of a run as a fluid: bytes flow into SharedMemory as fast as the port and the room allow."""
