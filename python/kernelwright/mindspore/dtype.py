"""`mindspore.dtype`."""

from .common.dtype import *  # noqa: F403
