"""When each load of a straight list of steps is issued: complete search and bound."""
