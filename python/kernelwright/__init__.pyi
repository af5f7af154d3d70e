"""The public names of the package, for editors and type checkers."""

from . import ops as ops
from . import testing as testing
from ._core import (
    Kernel as Kernel,
)
from ._debug import (
    debug as debug,
)
from ._threads import (
    set_threads as set_threads,
)
from ._threads import (
    threads as threads,
)
from .errors import (
    DeviceError as DeviceError,
)
from .errors import (
    HintIgnoredWarning as HintIgnoredWarning,
)
from .errors import (
    InternalError as InternalError,
)
from .errors import (
    KernelAssertionError as KernelAssertionError,
)
from .errors import (
    KernelIndexError as KernelIndexError,
)
from .errors import (
    KernelOverflowError as KernelOverflowError,
)
from .errors import (
    KernelSyntaxError as KernelSyntaxError,
)
from .errors import (
    KernelTypeError as KernelTypeError,
)
from .errors import (
    KernelValueError as KernelValueError,
)
from .errors import (
    KernelWarning as KernelWarning,
)
from .errors import (
    KernelZeroDivisionError as KernelZeroDivisionError,
)
from .errors import (
    ScheduleError as ScheduleError,
)
from .errors import (
    UninitializedReadWarning as UninitializedReadWarning,
)
from .errors import (
    UnsupportedError as UnsupportedError,
)
from .gradients import (
    grad as grad,
)
from .gradients import (
    value_and_grad as value_and_grad,
)
from .gradients import (
    vjp as vjp,
)
from .kernel import (
    kernel as kernel,
)
from .lang import (
    abs as abs,
)
from .lang import (
    acos as acos,
)
from .lang import (
    allocate as allocate,
)
from .lang import (
    asin as asin,
)
from .lang import (
    atan as atan,
)
from .lang import (
    atan2 as atan2,
)
from .lang import (
    attr as attr,
)
from .lang import (
    bfloat16 as bfloat16,
)
from .lang import (
    block_realize as block_realize,
)
from .lang import (
    bool_ as bool_,
)
from .lang import (
    ceil as ceil,
)
from .lang import (
    ceil_div as ceil_div,
)
from .lang import (
    const_range as const_range,
)
from .lang import (
    cos as cos,
)
from .lang import (
    cosh as cosh,
)
from .lang import (
    erf as erf,
)
from .lang import (
    erfc as erfc,
)
from .lang import (
    exp as exp,
)
from .lang import (
    exp2 as exp2,
)
from .lang import (
    expm1 as expm1,
)
from .lang import (
    float16 as float16,
)
from .lang import (
    float32 as float32,
)
from .lang import (
    float64 as float64,
)
from .lang import (
    floor as floor,
)
from .lang import (
    fmod as fmod,
)
from .lang import (
    grid as grid,
)
from .lang import (
    int8 as int8,
)
from .lang import (
    int16 as int16,
)
from .lang import (
    int32 as int32,
)
from .lang import (
    int64 as int64,
)
from .lang import (
    isfinite as isfinite,
)
from .lang import (
    isinf as isinf,
)
from .lang import (
    isnan as isnan,
)
from .lang import (
    likely as likely,
)
from .lang import (
    log as log,
)
from .lang import (
    log1p as log1p,
)
from .lang import (
    log2 as log2,
)
from .lang import (
    log10 as log10,
)
from .lang import (
    max as max,
)
from .lang import (
    min as min,
)
from .lang import (
    output_tensor as output_tensor,
)
from .lang import (
    parallel as parallel,
)
from .lang import (
    popcount as popcount,
)
from .lang import (
    power as power,
)
from .lang import (
    reduce as reduce,
)
from .lang import (
    round as round,
)
from .lang import (
    rsqrt as rsqrt,
)
from .lang import (
    select as select,
)
from .lang import (
    serial as serial,
)
from .lang import (
    sigmoid as sigmoid,
)
from .lang import (
    sign as sign,
)
from .lang import (
    sin as sin,
)
from .lang import (
    sinh as sinh,
)
from .lang import (
    sqrt as sqrt,
)
from .lang import (
    sub_relu as sub_relu,
)
from .lang import (
    tan as tan,
)
from .lang import (
    tanh as tanh,
)
from .lang import (
    trunc as trunc,
)
from .lang import (
    uint8 as uint8,
)
from .lang import (
    uint16 as uint16,
)
from .lang import (
    uint32 as uint32,
)
from .lang import (
    uint64 as uint64,
)
from .lang import (
    unroll as unroll,
)
from .lang import (
    vectorize as vectorize,
)
from .operators import (
    kernel_row as kernel_row,
)
from .operators import (
    register_op as register_op,
)
from .operators import (
    remove_op as remove_op,
)
from .tensor import (
    Tensor as Tensor,
)
from .warm.recording import (
    record as record,
)

__version__: str

def include_paths() -> list[str]:
    """Returns the folders of the headers that ahead-of-time kernels include (custom_aot_extra.h)."""
