"""`mindspore.context`: where programs select their device."""

from __future__ import annotations

import difflib
import os
import sys
from typing import Any

from .. import _core, cuda
from ..errors import placeless_error
from .missing import missing

GRAPH_MODE, PYNATIVE_MODE = 0, 1

_decided: str | None = os.environ.get("KW_DEVICE")  # set also by the `kw run` that started this process
_told = False


def has_cuda_device() -> bool:
    """Returns whether there is a GPU that kernels can run on."""
    return cuda.available()


def present_device() -> str:
    """Returns where tensors are made: "cpu" or "cuda:N"."""
    wanted = _decided or ("gpu" if _options["device_target"] == "GPU" else "cpu")
    return f"cuda:{_options.get('device_id', 0)}" if wanted == "gpu" and has_cuda_device() else "cpu"


def _present_target() -> str:
    """The same as MindSpore names it."""
    return "CPU" if present_device() == "cpu" else "GPU"


def _device_error(why: str, help_text: str) -> Exception:
    return placeless_error("DeviceError", "E501", why, help_text)


def decide_device(device: str | None) -> None:
    """Fixes the device for the whole program: this one, else KW_DEVICE; without either the program chooses.
    Raises DeviceError for an absent GPU, and for other words in KW_DEVICE.
    """
    global _decided
    wanted = device or os.environ.get("KW_DEVICE") or None
    if wanted not in ("cpu", "gpu", None):
        raise _device_error(f"KW_DEVICE is '{wanted}', but must be cpu or gpu", "set KW_DEVICE=cpu")
    if wanted == "gpu" and not has_cuda_device():
        raise _device_error(f"no CUDA device: {cuda.why()}", "use --device cpu")
    _decided = wanted
    if wanted:
        os.environ["KW_DEVICE"] = wanted  # for processes that the program starts


_options: dict[str, Any] = {"mode": PYNATIVE_MODE, "device_target": "CPU"}

_known = frozenset(
    """mode device_target device_id precompile_only max_call_depth jit_config jit_syntax_level
    jit_enable_inplace_ops exec_order grad_for_scalar pynative_synchronize check_bprop deterministic
    save_graphs save_graphs_path enable_dump save_dump_path print_file_path env_config_path debug_level
    reserve_class_name_in_scope enable_sparse support_binary enable_graph_kernel graph_kernel_flags
    auto_tune_mode enable_reduce_precision enable_auto_mixed_precision variable_memory_max_size
    max_device_memory mempool_block_size memory_optimize_level memory_offload enable_mem_offload
    enable_profiling profiling_options enable_compile_cache compile_cache_path save_compile_cache
    load_compile_cache runtime_num_threads inter_op_parallel_num host_scheduling_max_threshold
    disable_format_transform op_timeout ascend_config gpu_config topo_order aoe_tune_mode aoe_config
    disable_graph_kernel_inline graph_memory_max_size check_input_format""".split()
)


def set_context(**options: Any) -> None:
    """Accepts MindSpore's options. With the target GPU, tensors that are made from now on lie on the GPU of
    `device_id`. For a device that is not here it prints one line to stderr.

    Raises ValueError for other options and values; then sets nothing.
    """
    global _told
    for key in options:
        if key not in _known:
            near = difflib.get_close_matches(key, _known, 3, 0.6)
            raise ValueError(
                f"For 'context.set_context', the keyword argument {key} is not recognized!"
                + (f" Nearby: {', '.join(near)}." if near else "")
            )
    target = options.get("device_target", "CPU")
    mode = options.get("mode", GRAPH_MODE)
    if mode not in (GRAPH_MODE, PYNATIVE_MODE):
        raise ValueError(
            "For 'context.set_context', the argument 'mode' should be context.GRAPH_MODE (0) or"
            f" context.PYNATIVE_MODE (1), but got {mode}."
        )
    if target not in ("CPU", "GPU", "Ascend", "Davinci"):
        raise ValueError(
            "For 'context.set_context', the argument 'device_target' must be one of ['CPU', 'GPU', 'Ascend'],"
            f" but got {target}"
        )
    _options.update(options)
    if "check_bprop" in options:
        _core.check_gradients(bool(options["check_bprop"]))
    if target == "CPU" or _decided == "cpu" or _told or (target == "GPU" and has_cuda_device()):
        return
    _told = True
    kind = "CUDA" if target == "GPU" else target
    print(f"no {kind} device: running on the {_present_target()}", file=sys.stderr)


def get_context(attr_key: str) -> Any:
    """Returns the value of an option; raises ValueError for an option that was not set. The target is that
    of `kw run --device`, if it was given.
    """
    if attr_key not in _options:
        raise ValueError(f"For 'context.get_context', the option '{attr_key}' was not set")
    if attr_key == "device_target" and _decided:
        return _present_target()
    return _options[attr_key]


def __getattr__(name: str) -> Any:
    raise missing("mindspore.context", name, globals())


def set_device(device_target: str, device_id: int | None = None) -> None:
    """Same as set_context(device_target=…, device_id=…)."""
    set_context(device_target=device_target, **({} if device_id is None else {"device_id": device_id}))
