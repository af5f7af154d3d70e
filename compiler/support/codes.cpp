// The code table itself. Its rows are in the order of the enumeration.
#include "support/codes.h"

#include <array>

namespace kw {

namespace {

using enum ErrorClass;

constexpr CodeRow table[] = {
    {Code::E100, "E100", syntax, "malformed source", "test_e100_malformed_source"},
    {Code::E101, "E101", syntax, "construct outside the language", "test_e101_construct"},
    {Code::E102, "E102", unsupported, "part of the language that is not available yet",
     "test_e102_not_available_yet"},
    {Code::E103, "E103", syntax, "undefined name", "test_e103_undefined_name"},
    {Code::E104, "E104", syntax, "wrong call", "test_e104_wrong_call"},
    {Code::E105, "E105", syntax, "nested too deeply", "test_e105_depth"},
    {Code::E106, "E106", syntax, "assignment to a loop variable", "test_e106_assigned_loop_variable"},
    {Code::E107, "E107", syntax, "loop variable read after its loop", "test_e107_loop_variable_after_loop"},
    {Code::E108, "E108", syntax, "misplaced or missing return", "test_e108_return"},
    {Code::E109, "E109", syntax, "slice of a tensor", "test_e109_slice"},
    {Code::E110, "E110", syntax, "misplaced buffer declaration", "test_e110_declaration"},
    {Code::E111, "E111", syntax, "loop over something that is no range", "test_e111_iterable"},
    {Code::E112, "E112", syntax, "parameter that a kernel cannot have", "test_e112_parameter"},
    {Code::E113, "E113", syntax, "assignment to something that cannot be assigned", "test_e113_target"},
    {Code::E115, "E115", syntax, "return of a scalar", "test_e115_scalar_return"},
    {Code::E116, "E116", syntax, "range step", "test_e116_step"},
    {Code::E117, "E117", syntax, "captured object", "test_e117_captured_object"},
    {Code::E118, "E118", syntax, "recursive function", "test_e118_recursion"},
    {Code::E120, "E120", syntax, "no source text", "test_e120_no_source"},
    {Code::E121, "E121", syntax, "source edited after import", "test_e121_edited_before_the_kernel_was_made"},
    {Code::E122, "E122", syntax, "kernel too long", "test_e122_length"},
    {Code::W101, "W101", warning, "global shadows a word of the language", "test_w101_shadow"},
    {Code::W102, "W102", warning, "output of the default dtype", "test_w102_default_dtype"},
    {Code::E200, "E200", type, "operand types", "test_e200_operand"},
    {Code::E201, "E201", type, "number of indices", "test_e201_rank"},
    {Code::E202, "E202", type, "tensor where a scalar is needed, or the reverse",
     "test_e202_tensor_as_scalar"},
    {Code::E203, "E203", type, "constant outside the operand's range", "test_e203_range"},
    {Code::E204, "E204", type, "integer to a negative power", "test_e204_negative_power"},
    {Code::E205, "E205", type, "minus on bool", "test_e205_bool_minus"},
    {Code::E206, "E206", type, "shape expression", "test_e206_shape"},
    {Code::E207, "E207", type, "write to an input that is not returned", "test_e207_written_input"},
    {Code::E208, "E208", type, "output that is not returned", "test_e208_unreturned_output"},
    {Code::E209, "E209", type, "returned buffer", "test_e209_returned_buffer"},
    {Code::E210, "E210", type, "two strong dtypes merge", "test_e210_merge"},
    {Code::E211, "E211", type, "weak kind does not fit", "test_e211_weak_merge"},
    {Code::E212, "E212", type, "tensor name rebound", "test_e212_rebound"},
    {Code::E213, "E213", type, "index is no integer", "test_e213_index_type"},
    {Code::E214, "E214", type, "truth value used as a number", "test_e214_truth_value"},
    {Code::E215, "E215", type, "constant exceeds 64 bits", "test_e215_wide_constant"},
    {Code::E216, "E216", type, "dtype", "test_e216_dtype"},
    {Code::E221, "E221", type, "argument type", "test_e221_argument_type"},
    {Code::E222, "E222", value, "argument value", "test_e222_argument_value"},
    {Code::E223, "E223", overflow, "argument outside int64", "test_e223_argument_range"},
    {Code::E224, "E224", value, "extents exceed the address range", "test_e224_extents"},
    {Code::E301, "E301", index, "access out of bounds for all extents", "test_e301_static_bounds"},
    {Code::E302, "E302", index, "name may be unassigned", "test_e302_unassigned"},
    {Code::E303, "E303", index, "index out of range at run time", "test_e303_runtime_index"},
    {Code::E304, "E304", index, "negative extent", "test_e304_negative_extent"},
    {Code::E305, "E305", assertion, "failed assert", "test_e305_assert"},
    {Code::E306, "E306", overflow, "weak int outside the range of the other operand",
     "test_e306_operand_range"},
    {Code::E307, "E307", overflow, "arithmetic of Python ints beyond 64 bits", "test_e307_wide_arithmetic"},
    {Code::E308, "E308", overflow, "value outside the range of its new type", "test_e308_conversion_range"},
    {Code::E309, "E309", value, "conversion of NaN to an integer", "test_e309_nan"},
    {Code::E310, "E310", index, "element read before it is written", "test_e310_first_read"},
    {Code::E311, "E311", zero_division, "division of Python numbers by zero", "test_e311_zero_division"},
    {Code::E312, "E312", value, "integer to a negative power at run time", "test_e312_negative_exponent"},
    {Code::W301, "W301", uninitialized, "read before write", "test_w301_uninitialized_read"},
    {Code::E401, "E401", schedule, "malformed schedule", "test_e401_malformed_schedule"},
    {Code::W401, "W401", hint, "claimed iterations depend on each other", "test_w401_dependent_iterations"},
    {Code::W402, "W402", hint, "claimed lanes depend on each other", "test_w402_dependent_lanes"},
    {Code::W403, "W403", hint, "claimed writes may meet by data", "test_w403_repeated_index"},
    {Code::W404, "W404", hint, "claimed loop is an ordered reduction", "test_w404_ordered_reduction"},
    {Code::W405, "W405", hint, "claim without a proof", "test_w405_unproved"},
    {Code::W406, "W406", hint, "claimed loop is too large to be written out", "test_w406_unroll"},
    {Code::W407, "W407", warning, "neighbouring loops that cannot become one", "test_w407_unfused"},
    {Code::W408, "W408", hint, "claimed iterations share a temporary", "test_w408_shared_temporary"},
    {Code::W409, "W409", warning, "a plan of the scheduler that is not legal", "test_w409_refused_plan"},
    {Code::W410, "W410", warning, "a vector loop that runs serially", "test_w410_not_vectorized"},
    {Code::E501, "E501", device, "no such device", "test_e501_device"},
    {Code::E502, "E502", device, "compiler library", "test_e502_library"},
    {Code::E503, "E503", internal, "internal error", "test_e503_internal"},
    {Code::E504, "E504", device, "device that has failed", "test_e504_failed_device"},
    {Code::E505, "E505", device, "arguments on different devices", "test_e505_different_devices"},
    {Code::E506, "E506", device, "kernel not ready for a capture", "test_e506_capture"},
    {Code::E507, "E507", unsupported, "compilation forbidden by KW_FROZEN", "test_e507_frozen"},
    {Code::E508, "E508", unsupported, "kernel that cannot be exported", "test_e508_export"},
    {Code::E509, "E509", value, "bundle of cache entries refused", "test_e509_bundle"},
    {Code::W501, "W501", warning, "disk cache not as configured", "test_w501_cache_directory"},
    {Code::W502, "W502", warning, "captured number that keeps changing", "test_w502_changing_capture"},
    {Code::W503, "W503", warning, "fault of a kernel that nobody has seen", "test_w503_fault_at_exit"},
    {Code::W504, "W504", warning, "device that is newer than NVRTC", "test_w504_newer_gpu"},
    {Code::W505, "W505", warning, "operator that runs on the host", "test_w505_host_run"},
    {Code::W506, "W506", warning, "shared cache not used", "test_w506_shared_cache"},
};

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(table); ++i)
    if (static_cast<size_t>(table[i].code) != i) return false;
  return std::size(table) == static_cast<size_t>(Code::W506) + 1;
}
static_assert(in_order(), "one row per code, in the order of the enumeration");

}  // namespace

std::span<const CodeRow> code_table() { return table; }
const CodeRow &row_of(Code code) { return table[static_cast<size_t>(code)]; }

std::string_view class_name(ErrorClass c) {
  static constexpr std::array<std::string_view, 14> names = {
      "KernelSyntaxError",        "KernelTypeError",      "KernelIndexError",        "ScheduleError",
      "UnsupportedError",         "DeviceError",          "InternalError",           "KernelValueError",
      "KernelOverflowError",      "KernelAssertionError", "KernelZeroDivisionError", "KernelWarning",
      "UninitializedReadWarning", "HintIgnoredWarning"};
  return names[static_cast<size_t>(c)];
}

}  // namespace kw
