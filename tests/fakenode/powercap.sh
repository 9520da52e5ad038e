#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `ergon stat -m powercap` over zones that move: every joule between its first
# and last reading, to the microjoule. Constant power, a square wave, wraps
# of two units, two packages with dram, core and psys, and failing reads.
set -u
: "${top_srcdir:=.}" "${top_builddir:=.}"
ergon=$top_builddir/ergon
here=$top_builddir/tests/fakenode
machines=$top_srcdir/tests/sysroots
[ -x "$here/fakenode" ] || { echo "skip: fakenode is not built (no libfuse3)"; exit 77; }
[ -c /dev/fuse ] || { echo "skip: no /dev/fuse"; exit 77; }
tmp=$(mktemp -d "${TMPDIR:-/tmp}/ergon-fakenode-XXXXXX")
mkdir "$tmp/mnt"
export LC_ALL=C ERGON_CONF=/dev/null ERGON_SYSROOT="$tmp/mnt"
pid=
failed=0

stop() {
	[ -n "$pid" ] || return 0
	kill "$pid" 2> /dev/null
	wait "$pid" 2> /dev/null
	pid=
}
trap 'stop; rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM HUP

# node MACHINE ZONE...: start a machine; leaves its log in $tmp/log
node() {
	topo=$machines/$1/topo.xml
	shift
	stop
	rm -f "$tmp/log"
	"$here/fakenode" "$tmp/mnt" "$tmp/log" "$topo" "$@" 2> "$tmp/fuse" &
	pid=$!
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		[ -e "$tmp/mnt/topo.xml" ] && return 0
		kill -0 "$pid" 2> /dev/null || break
		sleep 0.1
	done
	cat "$tmp/fuse"
	if grep -q 'ermission denied\|not permitted\|fusermount3' "$tmp/fuse"; then
		echo "skip: FUSE file systems may not be mounted here"
		exit 77
	fi
	echo "FAIL: fakenode does not come up"
	exit 1
}

# measure TITLE HZ SECONDS FLAGS ZONE...: run and compare
measure() {
	title=$1 hz=$2 seconds=$3 flags=$4
	shift 4
	echo "--- $title"
	if ! "$ergon" stat -m powercap -F "$hz" --json "$tmp/json" -- sleep "$seconds" 2> "$tmp/err"; then
		cat "$tmp/err"
		echo "FAIL: $title: ergon stat"
		failed=1
	elif ! "$here/verify" "$tmp/json" "$tmp/log" "$flags" "$@"; then
		cat "$tmp/json"
		echo "FAIL: $title"
		failed=1
	fi
}

node laptop intel-rapl:0,package-0,61035,1000,100000000
measure "100 W" 100 1 "" intel-rapl:0,package,0,61035,1,0

node laptop intel-rapl:0,package-0,15258,1000,180000000/20000000/130
measure "180 and 20 W in turns" 100 1 "" intel-rapl:0,package,0,15258,1,0
measure "the same at 10 Hz" 10 1 "" intel-rapl:0,package,0,15258,1,0

# package 0 (100 W) wraps 3 s after the start, dram 1 (20 W) after 2.5 s.
node sapphire-rapids \
	intel-rapl:0,package-0,61035,4290052090,100000000 \
	intel-rapl:0:0,dram,15300,7,10000000/2000000/70 \
	intel-rapl:0:1,core,61035,7,30000000 \
	intel-rapl:1,psys,61035,7,400000000 \
	intel-rapl:2,package-1,61035,9999,150000000/30000000/300 \
	intel-rapl:2:0,dram,15300,4291699322,20000000 \
	intel-rapl-mmio:0,package-0,61035,4290052090,100000000
measure "two sockets, wraps, psys apart" 100 5 "" \
	intel-rapl:0,package,0,61035,1,1 \
	intel-rapl:0:0,dram,0,15300,1,0 \
	intel-rapl:0:1,core,0,61035,0,0 \
	intel-rapl:1,platform,-,61035,0,0 \
	intel-rapl:2,package,1,61035,1,0 \
	intel-rapl:2:0,dram,1,15300,1,1
if grep -q ' intel-rapl-mmio:0 ' "$tmp/log"; then
	echo "FAIL: the mmio twin was read"
	failed=1
fi

# Reads fail from 2 s to 2.5 s after the start: flagged, and no joule is lost.
node laptop intel-rapl:0,package-0,61035,1000,100000000,2000-2500
measure "failing reads" 100 4 gap intel-rapl:0,package,0,61035,1,0

exit $failed
