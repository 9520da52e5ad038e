#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `ergon stat -m hwmon` over sensors that move, vanish, fail and change their
# number. A sensor is read each 100 ms: energy is known up to that at both ends.
set -u
: "${top_srcdir:=.}" "${top_builddir:=.}"
ergon=$top_builddir/ergon
here=$top_builddir/tests/fakenode
topo=$top_srcdir/tests/sysroots/laptop/topo.xml
[ -x "$here/fakenode" ] || { echo "skip: fakenode is not built (no libfuse3)"; exit 77; }
[ -c /dev/fuse ] || { echo "skip: no /dev/fuse"; exit 77; }
command -v jq > /dev/null || { echo "skip: jq is not installed"; exit 77; }
tmp=$(mktemp -d "${TMPDIR:-/tmp}/ergon-fakehwmon-XXXXXX")
export LC_ALL=C ERGON_CONF=/dev/null
nodes=
runs=
names=

# kill the nodes and wait for them; only then is nothing mounted any more.
stop() {
	# shellcheck disable=SC2086
	[ -z "$nodes" ] || kill $nodes 2> /dev/null
	wait
	nodes=
}
trap 'stop; rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP

# node DIR: a card that counts, and one that tells power, 300 and 100 W in turns
node() {
	mkdir -p "$1/mnt"
	"$here/fakenode" "$1/mnt" "$1/log" "$topo" \
		hwmon2,xe,1000,5000000000000,150000000 \
		hwmon3,amdgpu,1000,0,300000000/100000000/700 2> "$1/fuse" &
	nodes="$nodes $!"
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		[ -e "$1/mnt/topo.xml" ] && return 0
		kill -0 $! 2> /dev/null || break
		sleep 0.1
	done
	cat "$1/fuse"
	if grep -q 'ermission denied\|not permitted\|fusermount3' "$1/fuse"; then
		echo "skip: FUSE file systems may not be mounted here"
		exit 77
	fi
	echo "FAIL: fakenode does not come up"
	exit 1
}

# watts DIR INSTANCE WATTS PERCENT: mean power of a GPU
watts() {
	jq -e --argjson i "$2" --argjson w "$3" --argjson p "$4" '
		(.domains.gpu.instances[$i].j / .elapsed_s / $w - 1) * 100 | fabs < $p' "$1/json" > /dev/null ||
		{ echo "gpu$2: not $3 W"; return 1; }
}

# seen DIR: the mean power of hwmon3 that its readings show, by trapezoids between their times in the log
seen() {
	awk '$2 == "hwmon3" {
			w = $3 % 700000000 < 350000000 ? 300 : 100
			if (n++) j += (w + before) / 2 * ($3 - t)
			else start = $3
			t = $3; before = w
		}
		END { print j / (t - start) }' "$1/log"
}

# moving NAME FLAGS TOLERANCE COMMANDS: measure COMMANDS, in which `do_` changes the machine.
moving() {
	name=$1 flags=$2 tolerance=$3 commands=$4
	dir=$tmp/$name
	node "$dir"
	(
		# shellcheck disable=SC2016
		if ! ERGON_SYSROOT="$dir/mnt" "$ergon" stat -m hwmon -F 50 --json "$dir/json" -- \
			sh -ec 'do_() { echo "$@" > "$0/control"; }; eval "$1"' "$dir/mnt" "$commands" \
			2> "$dir/err"; then
			cat "$dir/err"
			echo "FAIL: ergon stat"
			exit 1
		fi
		watts "$dir" 0 150 "$tolerance" && watts "$dir" 1 "$(seen "$dir")" 5 &&
			[ "$(jq -r '.flags - ["missed"] | join(",")' "$dir/json")" = "$flags" ] && exit 0
		cat "$dir/json"
		exit 1
	) > "$dir/out" 2>&1 &
	runs="$runs $!"
	names="$names $name"
}

moving steady '' 5 'sleep 4'
# The driver is loaded again, and its number is another: what was counted meanwhile is caught up.
moving renumbered gap 5 'sleep 1; do_ gone hwmon2; sleep 0.5; do_ back hwmon2 hwmon0; sleep 3'
# Errors of a second or two: the last value stands in, the other sensor goes on.
moving eio '' 5 'sleep 1; do_ fail hwmon2; sleep 1; do_ heal hwmon2; sleep 2'
# The counter starts anew: what it lost is not guessed, at most one reading.
moving zeroed reset 10 'sleep 0.3; do_ set hwmon2 0; sleep 3.7'

failed=0
# shellcheck disable=SC2086
set -- $names
for run in $runs; do
	if ! wait "$run"; then
		cat "$tmp/$1/out"
		echo "FAIL: $1"
		failed=1
	else
		echo "ok: $1"
	fi
	shift
done
exit $failed
