#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `ergon stat -m powercap` while zones vanish, fail, freeze, jump and change
# their names: the flags say so, no joule is invented, every other channel
# goes on, and what comes back is found again. Every microjoule is checked.
# The measured command drives the faults; all cases run side by side.
set -u
: "${top_srcdir:=.}" "${top_builddir:=.}"
ergon=$top_builddir/ergon
here=$top_builddir/tests/fakenode
topo=$top_srcdir/tests/sysroots/sapphire-rapids/topo.xml
[ -x "$here/fakenode" ] || { echo "skip: fakenode is not built (no libfuse3)"; exit 77; }
[ -c /dev/fuse ] || { echo "skip: no /dev/fuse"; exit 77; }
tmp=$(mktemp -d "${TMPDIR:-/tmp}/ergon-faults-XXXXXX")
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

# node DIR: the machine of all cases. Package 0 is 914 J below its wrap, so
# that a lower value could be taken for one.
node() {
	mkdir -p "$1/mnt"
	"$here/fakenode" "$1/mnt" "$1/log" "$topo" \
		intel-rapl:0,package-0,61035,4280000000,100000000 \
		intel-rapl:0:0,dram,15300,2000000,20000000 \
		intel-rapl:0:1,core,61035,7,30000000 \
		intel-rapl:1,psys,61035,7,400000000 \
		intel-rapl:2,package-1,61035,2000000000,150000000 \
		intel-rapl:2:0,dram,15300,3000000,10000000 2> "$1/fuse" &
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

# fault NAME FLAGS COMMANDS: measure COMMANDS, in which `do_` changes the machine.
fault() {
	name=$1 flags=$2 commands=$3
	dir=$tmp/$name
	node "$dir"
	(
		echo "--- $name"
		# shellcheck disable=SC2016
		if ! ERGON_SYSROOT="$dir/mnt" "$ergon" stat -m powercap -F 50 --json "$dir/json" -- \
			sh -ec 'do_() { echo "$@" > "$0/control"; }; eval "$1"' "$dir/mnt" "$commands" \
			2> "$dir/err"; then
			cat "$dir/err"
			echo "FAIL: ergon stat"
			exit 1
		fi
		"$here/verify" -f "$dir/json" "$dir/log" "$flags" \
			intel-rapl:0,package,0,61035,1,0 \
			intel-rapl:0:0,dram,0,15300,1,0 \
			intel-rapl:0:1,core,0,61035,0,0 \
			intel-rapl:1,platform,-,61035,0,0 \
			intel-rapl:2,package,1,61035,1,0 \
			intel-rapl:2:0,dram,1,15300,1,0 && exit 0
		cat "$dir/json"
		exit 1
	) > "$dir/out" 2>&1 &
	runs="$runs $!"
	names="$names $name"
}

# X21: away and back. What was consumed meanwhile is caught up; a counter
# that comes back lower is reset: what it lost is not guessed.
fault vanishes gap 'sleep 0.5; do_ gone intel-rapl:0; sleep 0.5; do_ back intel-rapl:0; sleep 2'
fault lower 'reset,gap' 'sleep 0.5; do_ gone intel-rapl:0; do_ set intel-rapl:0 1000; sleep 0.5
	do_ back intel-rapl:0; sleep 2'
# A package goes offline for good: everything else goes on.
fault offline gap 'sleep 0.5; do_ gone intel-rapl:2; do_ gone intel-rapl:2:0; sleep 2.5'
# The driver is reloaded, and every zone has another index.
fault renumbered gap 'sleep 0.5; do_ gone all; sleep 0.5
	do_ back intel-rapl:1 intel-rapl:0; do_ back intel-rapl:0 intel-rapl:3
	do_ back intel-rapl:0:0 intel-rapl:3:1; do_ back intel-rapl:0:1 intel-rapl:3:0
	do_ back intel-rapl:2 intel-rapl:1; do_ back intel-rapl:2:0 intel-rapl:1:0; sleep 2'
# A package goes offline and comes back with another index and a counter that starts anew.
fault replugged 'reset,gap' 'sleep 0.5; do_ gone intel-rapl:2; do_ gone intel-rapl:2:0; do_ set intel-rapl:2 0
	sleep 0.5; do_ back intel-rapl:2 intel-rapl:5; do_ back intel-rapl:2:0 intel-rapl:5:0; sleep 2'
fault hidden gap 'sleep 0.5; do_ hide; sleep 0.5; do_ show; sleep 2'
# Shorter and longer than a rescan waits.
fault eio gap 'sleep 0.5; do_ fail intel-rapl:0; sleep 0.5; do_ heal intel-rapl:0; sleep 1'
fault eio-long gap 'sleep 0.5; do_ fail all; sleep 1.5; do_ heal all; sleep 1'
# What is open stays open: neither the name nor the rights are needed again.
fault unlinked '' 'sleep 0.5; do_ unlink all; sleep 0.5; do_ heal all; sleep 0.5'
fault denied '' 'sleep 0.5; do_ deny all; sleep 1'
# Registered anew, and without the rights: found when the rights are back.
fault denied-anew gap 'sleep 0.5; do_ deny intel-rapl:2; do_ gone intel-rapl:2; sleep 0.2
	do_ back intel-rapl:2; sleep 1.5; do_ heal intel-rapl:2; sleep 2.5'
fault zeroed reset 'sleep 0.5; do_ set intel-rapl:2 0; sleep 0.5; do_ set intel-rapl:0:0 0; sleep 0.5'
# A package that stands still for ten seconds is told; a core that does so may be idle.
fault frozen stale 'sleep 0.5; do_ freeze intel-rapl:0; sleep 10.5; do_ heal intel-rapl:0; sleep 0.5'
fault frozen-core '' 'do_ freeze intel-rapl:0:0; do_ freeze intel-rapl:0:1; do_ freeze intel-rapl:1; sleep 10.5
	do_ heal all; sleep 0.5'
fault frozen-short '' 'do_ freeze all; sleep 5; do_ heal all; sleep 0.5'

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
