#!/usr/bin/env bash
# snac, a small fediverse server that speaks a good part of the Mastodon API, on loopback, with two users.
# It knows no Idempotency-Key and no deletion: those are tested against the project's own double.
#
#   snac.sh install   fetches Debian's package once and unpacks it; nothing on the system is changed
#   snac.sh start     starts it with empty data and prints the environment that the tests read
#   snac.sh stop
#   snac.sh env       prints that environment again
#
# BROADSIDE_SNAC_PORT chooses the port; otherwise a free one is taken.
set -euo pipefail
server=snac
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$here/lib.sh"

# Debian 13 has it and Debian 12, whose libraries it is content with, has not.
suite=trixie
version=2.75
home=$servers_dir/snac-$version
snac=$home/usr/bin/snac
user=alice
other=bob

# debian_source prints the machine's own source of packages with the suite changed, so that mirrors, keys and
# proxies stay as this machine has them.
debian_source() {
  local codename
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  if [ -e /etc/apt/sources.list.d/debian.sources ]; then
    awk -v RS= -v ORS='\n\n' -v main="Suites: $codename( |\n)" '$0 ~ main' /etc/apt/sources.list.d/debian.sources |
      sed "s/^Suites:.*/Suites: $suite/"
  else
    grep -hE "^deb .* $codename main" /etc/apt/sources.list | sed "s/ $codename main.*/ $suite main/"
  fi
}

install_snac() {
  local apt=$servers_dir/snac-apt file=snac.sources private
  command -v apt-get >/dev/null || die "needs a Debian system to install it"
  rm -rf "$home" "$apt"
  mkdir -p "$home" "$apt/sources" "$apt/lists/partial" "$apt/cache/archives/partial"
  : >"$apt/status"
  [ -e /etc/apt/sources.list.d/debian.sources ] || file=snac.list
  debian_source >"$apt/sources/$file"
  [ -s "$apt/sources/$file" ] || die "found no Debian source to take $suite from"
  # A private set of lists and states: the system's apt never learns of the other suite.
  private=(-qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$apt/sources"
    -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" -o Dir::State::status="$apt/status"
    -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=3)
  say "downloading $version"
  apt-get "${private[@]}" update >&2
  (cd "$apt" && apt-get "${private[@]}" download "snac2=$version-*" >&2 && dpkg -x snac2_*.deb "$home")
  rm -rf "$apt"
  if ldd "$snac" | grep 'not found' >&2; then
    die "libraries are missing (Debian's packages are libcurl4 and libssl3)"
  fi
}

# add_user NAME FILE makes a user and writes its password to the file.
add_user() {
  "$snac" adduser "$run_dir/data" "$1" >/dev/null
  (
    umask 077
    "$snac" resetpwd "$run_dir/data" "$1" | sed -n "s/^New password for user $1 is //p" >"$2"
  )
  [ -s "$2" ] || die "told no password for its user $1"
}

start_snac() {
  local port
  [ -e "$home/installed" ] || die "is not installed; run: ${0##*/} install"
  if server_pid >/dev/null; then
    say "is running already"
    print_env
    return
  fi
  port=${BROADSIDE_SNAC_PORT:-$(free_port)}
  rm -rf "$run_dir"
  mkdir -p "$run_dir"
  # The answers to its questions: address, port, host name, path prefix, the admin's e-mail.
  printf '%s\n' 127.0.0.1 "$port" "localhost:$port" '' admin@example.com | "$snac" init "$run_dir/data" >/dev/null
  # Without this every URL that it gives says https, which nothing here serves.
  sed -i 's/"protocol": "https"/"protocol": "http"/' "$run_dir/data/server.json"
  add_user "$user" "$run_dir/password"
  add_user "$other" "$run_dir/password-other"
  launch env DEBUG="${SNAC_DEBUG:-0}" "$snac" httpd "$run_dir/data"
  await_http "http://127.0.0.1:$port/api/v1/instance"
  cat >"$run_dir/env" <<ENV
export BROADSIDE_TEST_MASTODON=http://127.0.0.1:$port
export BROADSIDE_TEST_MASTODON_USER=$user
export BROADSIDE_TEST_MASTODON_PASSWORD_FILE=$run_dir/password
export BROADSIDE_TEST_MASTODON_OTHER=$other
export BROADSIDE_TEST_MASTODON_OTHER_PASSWORD_FILE=$run_dir/password-other
ENV
  print_env
}

case ${1:-} in
install) once "$home/installed" install_snac ;;
start) start_snac ;;
stop) stop_server ;;
env) print_env ;;
*) usage ;;
esac
