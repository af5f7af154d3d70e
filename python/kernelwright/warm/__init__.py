"""Kernels before their first call: warm-up, manifests of what a program needs, entries and bundles of the
cache.
"""
