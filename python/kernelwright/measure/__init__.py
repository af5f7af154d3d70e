"""Measurement of kernels: times, what they compute and move, the limits of the machine, other compilers."""
