"""What the ops of a program compute: outputs from inputs and weights, as bytes."""
