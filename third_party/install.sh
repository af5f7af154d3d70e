#!/bin/sh
# Installs what the build needs: packages of Debian 12 and 13 or Ubuntu 24.04 (as root or by sudo), and Python packages into .venv/.
# Does nothing when all is there.
# `install.sh bench` installs what the benchmarks need besides, `install.sh wheel` what wheels do. The lists name minimal versions of
# Debian's packages, "a|b 1.0" either of two, the first that the system has, and hashes of all of Python's. NVRTC (90 MB) is installed
# where there is none, for the tests.
set -eu
cd "$(dirname "$0")/.."
set_name=${1:-}
packages=third_party/${set_name:+$set_name-}apt.txt
requirements=third_party/${set_name:+$set_name-}requirements.txt
stamp=.venv/.kernelwright-ready${set_name:+-$set_name}
is_done=yes
for made_from in "$packages" "$requirements" third_party/nvrtc-requirements.txt third_party/install.sh; do
  [ -f "$stamp" ] && [ "$stamp" -nt "$made_from" ] || is_done=no
done
[ $is_done = no ] || exit 0

# runs a command and says every eight seconds that it still runs; shows its output if it fails
patiently() {
  log=$(mktemp)
  "$@" >"$log" 2>&1 &
  running=$!
  seconds=0
  while kill -0 $running 2>/dev/null; do
    sleep 1
    seconds=$((seconds + 1))
    [ $((seconds % 8)) != 0 ] || echo "  still at it after $seconds s"
  done
  wait $running || { status=$?; cat "$log" >&2; rm -f "$log"; exit $status; }
  rm -f "$log"
}

# whether a package is installed in this version or a newer one
fits() {
  has=$(dpkg-query -W -f='${Status} ${Version}' "$1" 2>/dev/null) || has=""
  case $has in
    "install ok installed "*) dpkg --compare-versions "${has##* }" ge "$2" ;;
    *) false ;;
  esac
}

# the packages of the list that are missing or too old
unfit() {
  while read -r choice least; do
    is_there=no wanted=""
    for package in $(echo "$choice" | tr '|' ' '); do
      ! fits "$package" "$least" || is_there=yes
      # of several, the first that the system knows; apt-cache knows nothing before the first update
      [ -n "$wanted" ] || ! apt-cache show "$package" >/dev/null 2>&1 || wanted=$package
    done
    [ $is_there = yes ] || echo "${wanted:-${choice%%|*}}"
  done <"$packages"
}

missing=$(unfit | tr '\n' ' ')
if [ -n "$missing" ]; then
  if [ "$(id -u)" = 0 ]; then as_root=""
  elif command -v sudo >/dev/null 2>&1; then as_root="sudo"
  else
    echo "kernelwright: these Debian packages are missing or too old and cannot be installed without root: $missing" >&2
    echo "kernelwright: run as root: apt-get install --no-install-recommends $missing" >&2
    exit 1
  fi
  echo "Installing Debian packages: $missing"
  export DEBIAN_FRONTEND=noninteractive
  patiently $as_root apt-get update -qq
  missing=$(unfit | tr '\n' ' ')  # now apt knows which packages there are
  patiently $as_root apt-get install -y -qq --no-install-recommends $missing
  missing=$(unfit | tr '\n' ' ')
  if [ -n "$missing" ]; then
    echo "kernelwright: apt has only versions that are too old ($packages names the minimal ones) of: $missing" >&2
    exit 1
  fi
fi

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "kernelwright: $python is older than Python 3.10" >&2; exit 1; }
[ -x .venv/bin/python ] || "$python" -m venv .venv
echo "Installing Python packages into .venv/"
patiently .venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r "$requirements"
# the tests compile CUDA texts, also where no GPU is; a toolkit has what is needed for that
if [ -z "$set_name" ] && [ "$(uname -m)" = x86_64 ] && ! .venv/bin/python -c 'import sys; sys.path.insert(0, "tests/gpu"); import nvrtc; sys.exit(not nvrtc.path())'; then
  echo "Installing NVRTC into .venv/"
  (patiently .venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r third_party/nvrtc-requirements.txt) ||
    echo "kernelwright: without NVRTC, its tests are skipped" >&2
fi
site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "$PWD/build" >"$site/kernelwright-checkout.pth"
# like the script of the wheel: with `python -m` the files of the working directory would come before kernelwright's own
cat >.venv/bin/kw <<END
#!/bin/sh
'exec' "$PWD/.venv/bin/python" "\$0" "\$@"  # a shebang has no room for long paths; to Python this is a text
import sys

from kernelwright.cli import main

sys.exit(main())
END
chmod +x .venv/bin/kw
touch "$stamp"
