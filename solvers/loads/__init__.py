"""When to issue each load of a straight-line segment of steps: complete search and bound."""
