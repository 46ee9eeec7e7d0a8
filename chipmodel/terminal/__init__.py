"""What is shown on stderr while work goes on."""
