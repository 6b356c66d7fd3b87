"""Growth by a threshold: how much of a pool is requested, and the machines that bring it below its threshold. Pure."""
