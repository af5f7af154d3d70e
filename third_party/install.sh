#!/bin/sh
# Installs what the build needs: Debian packages (as root or by sudo) and Python packages into .venv/. Does nothing when all is there.
# `install.sh bench` installs what the benchmarks need besides.
set -eu
cd "$(dirname "$0")/.."
set_name=${1:-}
packages=third_party/${set_name:+$set_name-}apt.txt
requirements=third_party/${set_name:+$set_name-}requirements.txt
stamp=.venv/.kernelwright-ready${set_name:+-$set_name}
if [ -f "$stamp" ] && [ "$stamp" -nt "$packages" ] && [ "$stamp" -nt "$requirements" ]; then exit 0; fi

missing=""
for package in $(cat "$packages"); do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
if [ -n "$missing" ]; then
  if [ "$(id -u)" = 0 ]; then as_root=""
  elif command -v sudo >/dev/null 2>&1; then as_root="sudo"
  else
    echo "kernelwright: these Debian packages are missing and cannot be installed without root:$missing" >&2
    echo "kernelwright: run as root: apt-get install --no-install-recommends$missing" >&2
    exit 1
  fi
  echo "Installing Debian packages:$missing"
  export DEBIAN_FRONTEND=noninteractive
  $as_root apt-get update -qq
  $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "kernelwright: $python is older than Python 3.10" >&2; exit 1; }
[ -x .venv/bin/python ] || "$python" -m venv .venv
.venv/bin/python -m pip install -q --disable-pip-version-check -r "$requirements"
site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "$PWD/build" >"$site/kernelwright-checkout.pth"
printf '#!/bin/sh\nexec "%s/.venv/bin/python" -m kernelwright "$@"\n' "$PWD" >.venv/bin/kw
chmod +x .venv/bin/kw
touch "$stamp"
