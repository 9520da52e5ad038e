#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ERGON_FREQ=auto where the leading rank samples: an idle node's board has a
# sample a second, which the keeper does not take for missed ones.
. "$(dirname "$0")/lib.sh"

mpi=mock
sysroot=$work/sysroot
sh "$top_srcdir/tests/standin/make-sysroot" "$sysroot" 100 --packages 1
status=$?
[ $status = 0 ] || exit $status
make_mockrank
# The machine is idle for all its CPU times say: they stand still.
rm "$sysroot/proc"
mkdir "$sysroot/proc"
for entry in /proc/[a-z]*; do
	ln -s "$entry" "$sysroot/proc/"
done
rm "$sysroot/proc/stat"
cp /proc/stat "$sysroot/proc/stat"

# ranks DIR FREQ SECONDS: two ranks of one job, their files below DIR.
ranks() {
	mkdir "$work/$1"
	for r in 0 1; do
		(cd "$work/$1" && LD_PRELOAD=$lib PMI_RANK=$r PMI_SIZE=2 ERGON_OUTPUT_DIR=. ERGON_FREQ=$2 \
			ERGON_SYSROOT=$sysroot ERGON_MECHANISM=perf exec "$work/mockrank" "$3" 2>>"$work/$1/err") &
	done
	wait
}

# head_of KEY FILE: the value in the file's head.
head_of() { sed -n "s/^#.* $1=\([^ ]*\).*/\1/p" "$2"; }

ranks auto auto:100 5
node=$(find "$work/auto" -name 'node.*.csv')
check "the node's file" [ -f "$node" ]
cat "$node"
samples=$(head_of samples "$node") missed=$(head_of missed "$node")
# 100 Hz for 2 to 2.5 s, then 1 Hz.
check "few samples: $samples" [ "$samples" -gt 100 ] && check "few indeed" [ "$samples" -lt 290 ]
check "what was not planned was not missed: $missed" [ $((2 * missed)) -lt "$samples" ]
check "the rate is that under load" [ "$(head_of freq_hz "$node")" = 100 ]
check "ranks + unattributed = node" books_close "$work/auto"
check "nothing on stderr" [ ! -s "$work/auto/err" ]

ranks wrong fast 0.2
rank=$(find "$work/wrong" -name 'rank.*.0.csv')
check "a rate that is none is told" grep -q 'ERGON_FREQ=fast: expected a rate from 0.1 to 1000 Hz, auto or auto:HZ' \
	"$rank" "$work/wrong/err"
finish
