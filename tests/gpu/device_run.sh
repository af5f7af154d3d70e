#!/bin/sh
# All that a GPU can confirm, most valuable first, in one command of less than nine minutes:
#     tests/gpu/device_run.sh OUT
# Each stage has its time and writes OUT/STAGE.txt; OUT/summary.txt tells how each ended. The product is built
# without LLVM in build-device, unless KW_DEVICE_BUILD names a build. What the machine may lack (xxhash.h, and
# packages of Python) may lie in KW_DEVICE_KIT/include and KW_DEVICE_KIT/python, which `make device-kit` fills.
# With KW_DEVICE_TINY=1 stages do little, to see on the stand-ins that the script runs.
set -u
out=${1:?usage: tests/gpu/device_run.sh OUT}
root=$(cd "$(dirname "$0")/../.." && pwd)
self=$root/tests/gpu/device_run.sh
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$root" || exit 1
python=${PYTHON:-python3}
build=${KW_DEVICE_BUILD:-$root/build-device}
kit=${KW_DEVICE_KIT:-$root/.kit}
tiny=${KW_DEVICE_TINY:-}
failed=0
# the second, since the epoch, at which what runs is ended, and nothing more begins
export KW_DEVICE_DEADLINE="${KW_DEVICE_DEADLINE:-$(($(date +%s) + 530))}"

# stage NAME SECONDS COMMAND …
stage() {
    name=$1 limit=$2
    shift 2
    begin=$(date +%s)
    left=$((KW_DEVICE_DEADLINE - begin))
    [ $limit -le $left ] || limit=$left
    if [ $limit -le 0 ]; then
        failed=1
        echo "$name: not run, because no time was left" | tee -a "$out/summary.txt"
        return
    fi
    timeout -k 5 "$limit" "$@" >"$out/$name.txt" 2>&1
    code=$?
    [ $code -eq 0 ] || failed=1
    echo "$name: $([ $code -eq 0 ] && echo ended well || echo "ended with $code") after $(($(date +%s) - begin)) s" |
        tee -a "$out/summary.txt"
}

build() {
    cmake -S . -B "$build" -G Ninja -DKW_LLVM=OFF -DKW_TESTS=OFF -DKW_BENCH=ON -DKW_UNITY=ON -DPython_EXECUTABLE="$(command -v "$python")" \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_INCLUDE_PATH="$kit/include" && ninja -C "$build"
}

describe() {
    nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.limit --format=csv || true
    "$python" -c "import kernelwright as kw; print(kw.cuda.device(), kw.cuda.memory())"
}

# accesses and races of a few kernels, as NVIDIA's tool sees them
sanitize() {
    command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is not installed"; return 0; }
    for tool in memcheck racecheck; do
        compute-sanitizer --tool $tool --error-exitcode 9 --target-processes all "$python" -m pytest -q -p no:cacheprovider \
            tests/gpu/test_atomics.py tests/gpu/test_edges.py -k "least or softmax or transposed" || return
    done
}

# what six kernels ask of the machine; machines that lend out their GPU often forbid its counters
profile() {
    command -v ncu >/dev/null || { echo "ncu is not installed"; return 0; }
    ncu --target-processes all --launch-count 24 --section SpeedOfLight --section MemoryWorkloadAnalysis \
        --section LaunchStats "$python" bench/gpu/device.py add sum_rows softmax sum_columns transpose gather ||
        echo "ncu ended with $?"
}

# tests NAME SECONDS FEW: the tests of test_NAME.py, or with KW_DEVICE_TINY those whose name has FEW
tests() {
    files=tests/gpu/test_$1.py
    [ "$1" != schedules ] || files="tests/gpu/test_columns.py tests/gpu/test_rows.py tests/gpu/test_cached_rows.py
        tests/gpu/test_scans.py tests/gpu/test_chains.py tests/gpu/test_fills.py tests/gpu/test_selections.py
        tests/gpu/test_linear.py tests/gpu/test_team_vectors.py tests/gpu/test_layouts.py tests/gpu/test_masked.py
        tests/gpu/test_several_iterations.py tests/gpu/test_lazy_loads.py tests/gpu/test_edges.py
        tests/gpu/test_scatters.py tests/gpu/test_line_tables.py"
    [ "$1" != device ] || files="$files tests/gpu/test_fault_log.py"
    # shellcheck disable=SC2086  # several files
    stage "$1" "$2" "$python" -m pytest -q -p no:cacheprovider --maxfail=20 ${tiny:+-k "$3"} $files
}

case ${2:-} in
build | describe | sanitize | profile)
    "$2"
    exit
    ;;
esac
: >"$out/summary.txt"
[ -n "${KW_DEVICE_BUILD:-}" ] || stage build 150 "$self" "$out" build
export PYTHON="$python" KW_DEVICE_BUILD="$build"
export PYTHONPATH="$build:${PYTHONPATH:-}:$kit/python" KW_CACHE_DIR="${KW_CACHE_DIR:-$out/cache}"
export KW_TEST_DEVICE="${KW_TEST_DEVICE:-cuda}"
stage machine 30 "$self" "$out" describe
tests prelude 60 kw_min
tests emulated 160 softmax
stage gallery 160 "$python" bench/gpu/device.py ${tiny:+--tiny copy softmax}
compared=${tiny:+add}
: "${compared:=add sum_all sum_rows sum_columns argmax_rows softmax layernorm transpose stencil_2d cumsum_rows gather}"
# shellcheck disable=SC2086  # several names
stage peers 90 "$python" bench/gpu/device.py --peers ${tiny:+--tiny} $compared
stage launches 20 "$python" bench/gpu/calls.py --device ${tiny:+--tiny}
tests teams 30 a_long_row
tests sums 30 dot
tests schedules 90 int8
tests tiles 30 transpose
tests vectors 30 add
tests atomics 30 least
tests operators 30 softmax
tests device 30 wait
stage sanitizer 60 "$self" "$out" sanitize
stage profile 40 "$self" "$out" profile
exit $failed
