#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 at random points: whichever of three ranks dies, the keeper or
# another, and whenever, the books close over the living and the dead.
. "$(dirname "$0")/lib.sh"

mpi=mock
sysroot=$work/sysroot
sh "$top_srcdir/tests/standin/make-sysroot" "$sysroot" 100 --packages 1
status=$?
[ $status = 0 ] || exit $status
make_mockrank

# random N: 0 ... N-1
random() { od -An -N4 -tu4 /dev/urandom | awk -v n="$1" '{ print $1 % n }'; }

for round in 1 2 3 4 5 6 7 8 9 10; do
	rm -rf "$work"/ergon.*
	hz=$((round % 2 ? 100 : 1000))
	pids=
	for r in 0 1 2; do
		(
			export LD_PRELOAD="$lib" PMI_RANK=$r PMI_SIZE=3 ERGON_OUTPUT_DIR="$work" \
				ERGON_SYSROOT="$sysroot" ERGON_MECHANISM=perf ERGON_FREQ=$hz
			exec "$work/mockrank" 1.2
		) &
		pids="$pids $!"
	done
	victim=$(random 3)
	ms=$(random 1000)
	sleep "$(awk -v ms="$ms" 'BEGIN { printf "%.3f", ms / 1000 }')"
	# shellcheck disable=SC2086
	set -- $pids
	shift "$victim"
	kill -9 "$1"
	wait 2>/dev/null
	check "round $round, $hz Hz: rank $victim killed after $ms ms: the books close" books_close "$work"
	live_dirs "$work" | xargs -r rm -rf
done
finish
