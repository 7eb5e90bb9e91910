#!/usr/bin/env bash
# A real Bluesky personal data server and an in-memory PLC directory, on loopback, from npm.
#
#   pds.sh install   fetches and compiles it once; nothing to do when it is there
#   pds.sh start     starts it with empty data and prints the environment that the tests read
#   pds.sh stop
#   pds.sh env       prints that environment again
#
# BROADSIDE_PDS_PORT and BROADSIDE_PLC_PORT choose the ports; otherwise free ones are taken.
set -euo pipefail
server=pds
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$here/lib.sh"

# The last series that runs on Node 20. Its dependencies are ranges: the date pins what they resolve to.
version=0.4.217
plc_version=0.0.1
resolved_before=2026-11-30
home=$servers_dir/pds-$version

install_pds() {
  local tool nodedir
  for tool in node npm python3 make g++; do
    command -v "$tool" >/dev/null || die "$tool is needed to install it"
  done
  # One native module is compiled. The headers of the running node are used, since others would have to be downloaded.
  nodedir=$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")
  [ -e "$nodedir/include/node/node.h" ] || die "no headers of node in $nodedir/include/node (Debian's package is libnode-dev)"
  rm -rf "$home"
  mkdir -p "$home"
  echo '{"private": true}' >"$home/package.json"
  say "installing $version with npm; the native module takes some minutes"
  npm_config_nodedir=$nodedir npm install --prefix "$home" --no-audit --no-fund --loglevel=error \
    --before="$resolved_before" "@atproto/pds@$version" "@did-plc/server@$plc_version" >&2
}

start_pds() {
  local port plc_port
  [ -e "$home/installed" ] || die "is not installed; run: ${0##*/} install"
  if server_pid >/dev/null; then
    say "is running already"
    print_env
    return
  fi
  port=${BROADSIDE_PDS_PORT:-$(free_port)}
  plc_port=${BROADSIDE_PLC_PORT:-$(free_port)}
  rm -rf "$run_dir"
  mkdir -p "$run_dir/data/blobs" "$run_dir/data/tmp"
  # Keys and passwords are made for each start: nothing here is worth keeping or committing.
  (
    export PDS_PORT=$port PLC_PORT=$plc_port PDS_HOSTNAME=localhost PDS_DEV_MODE=true
    export PDS_DATA_DIRECTORY=$run_dir/data
    export PDS_BLOBSTORE_DISK_LOCATION=$run_dir/data/blobs PDS_BLOBSTORE_DISK_TMP_LOCATION=$run_dir/data/tmp
    export PDS_DID_PLC_URL=http://localhost:$plc_port PDS_SERVICE_HANDLE_DOMAINS=.test
    PDS_JWT_SECRET=$(random_hex 32) PDS_ADMIN_PASSWORD=$(random_hex 16)
    PDS_PLC_ROTATION_KEY_K256_PRIVATE_KEY_HEX=$(random_hex 32)
    export PDS_JWT_SECRET PDS_ADMIN_PASSWORD PDS_PLC_ROTATION_KEY_K256_PRIVATE_KEY_HEX
    export PDS_INVITE_REQUIRED=false PDS_DISABLE_SSRF_PROTECTION=true
    export PDS_RATE_LIMITS_ENABLED=${PDS_RATE_LIMITS_ENABLED:-false} LOG_ENABLED=${LOG_ENABLED:-false}
    launch node "$here/pds.cjs" "$home" "$run_dir"
  )
  await_http "http://127.0.0.1:$port/xrpc/_health"
  cat >"$run_dir/env" <<ENV
export BROADSIDE_TEST_PDS=http://127.0.0.1:$port
export BROADSIDE_TEST_PLC=http://127.0.0.1:$plc_port
ENV
  print_env
}

case ${1:-} in
install) once "$home/installed" install_pds ;;
start) start_pds ;;
stop) stop_server ;;
env) print_env ;;
*) usage ;;
esac
