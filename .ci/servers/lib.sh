# shellcheck shell=bash
# Shared by the server scripts beside this file, each of which sets $server before it sources this one:
# where things live, free ports, waiting, and stopping exactly the process that was started.

# What is installed is kept between runs; what a server writes while it runs is thrown away at each start.
servers_dir=${BROADSIDE_SERVERS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/broadside-servers}
run_dir=${BROADSIDE_SERVERS_RUN:-$servers_dir/run}/${server:?the sourcing script names its server}

# Standard output is kept for `export` lines, so that it can be evaluated; everything else goes to standard error.
say() { echo "$server: $*" >&2; }
die() { say "$*"; exit 1; }

usage() { die "usage: ${0##*/} install | start | stop | env"; }

# free_port prints a loopback port that nothing listens on. It stays below the ephemeral range, so that no outgoing
# connection takes the port between this look and the server's bind.
free_port() {
  local port tries
  for ((tries = 0; tries < 200; tries++)); do
    port=$((20000 + RANDOM % 12000))
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      echo "$port"
      return
    fi
  done
  die "no free port found"
}

# random_hex N prints N random bytes in hexadecimal.
random_hex() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }

# server_pid prints the pid of the running server. A pid file may outlive its process and the number may be taken by
# another one, so the command line must name this run folder.
server_pid() {
  local pid
  pid=$(cat "$run_dir/pid" 2>/dev/null) || return 1
  tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF "$run_dir" || return 1
  echo "$pid"
}

# launch COMMAND... starts the server in the background, cut loose from the caller's terminal and file descriptors.
# The command must name $run_dir.
launch() {
  setsid "$@" </dev/null >"$run_dir/log" 2>&1 9>&- &
  echo $! >"$run_dir/pid"
}

# await_http URL waits until the server answers with success, for at most 60 seconds.
await_http() {
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    if curl -sf --noproxy '*' --max-time 5 -o /dev/null "$1"; then
      return
    fi
    server_pid >/dev/null || break
    sleep 0.1
  done
  tail -n 20 "$run_dir/log" >&2 || true
  stop_server
  die "does not answer at $1; its log is $run_dir/log"
}

stop_server() {
  local pid tries
  if pid=$(server_pid); then
    kill "$pid" 2>/dev/null || true
    for ((tries = 0; tries < 100; tries++)); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -9 "$pid" 2>/dev/null || true
  fi
  rm -f "$run_dir/pid" "$run_dir/env"
}

# print_env prints what the tests read, as lines for the shell to evaluate.
print_env() {
  server_pid >/dev/null || die "is not running; start it with: ${0##*/} start"
  cat "$run_dir/env"
}

# once STAMP FUNCTION runs the function unless the stamp exists, and one at a time: a second installer waits for the first.
once() {
  mkdir -p "$servers_dir"
  (
    flock 9
    if [ ! -e "$1" ]; then
      "$2"
      touch "$1"
    fi
  ) 9>"$servers_dir/$server.lock"
}
