#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Added time per wrapped call and of the preload itself: runs with and without
# by turns, the fastest of each, which others on the machine disturb least.
: "${top_srcdir:?make bench sets it}" "${top_builddir:?}"
lib=$top_builddir/.libs/libergon-mpi.so
[ -f "$lib" ] || { echo "no $lib" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rounds=${BENCH_ROUNDS:-7}

# least COLUMN FILE
least() {
	awk -v c="$1" 'NR == 1 || $c < m { m = $c } END { print m }' "$2"
}

# report NAME UNIT TARGET FILE COLUMN COLUMN: without and with
report() {
	awk -v name="$1" -v unit="$2" -v target="$3" -v a="$(least "$5" "$4")" -v b="$(least "$6" "$4")" 'BEGIN {
		printf "%s: %.2f %s alone, %.2f %s added, ratio %.2f (target: %s %s added)\n",
			name, a, unit, b - a, unit, b / a, target, unit }'
}

for mpi in openmpi mpich; do
	case $mpi in
	openmpi) mpicc=${MPICC_OPENMPI:-} ;;
	mpich) mpicc=${MPICC_MPICH:-} ;;
	esac
	[ -n "$mpicc" ] || { echo "$mpi: not found"; continue; }
	"$mpicc" -O2 -o "$work/calls" "$top_srcdir/tests/bench/mpi_calls.c" || exit 1
	: >"$work/pairs"
	for i in $(seq "$rounds"); do
		plain=$(timeout -k 5 60 "$work/calls") || exit 1
		with=$(LD_PRELOAD=$lib ERGON_OUTPUT_DIR=$work ERGON_MECHANISM=model \
			timeout -k 5 60 "$work/calls") || exit 1
		echo "$plain $with" >>"$work/pairs"
	done
	# allreduce NS iprobe NS allreduce NS iprobe NS
	report "$mpi MPI_Allreduce" ns 45 "$work/pairs" 2 6
	report "$mpi MPI_Iprobe that misses" ns 15 "$work/pairs" 4 8
done

"${CC:-cc}" -O2 -o "$work/spawn" "$top_srcdir/tests/bench/spawn.c" || exit 1
for i in $(seq "$rounds"); do
	echo "$("$work/spawn" /bin/true) $(LD_PRELOAD=$lib "$work/spawn" /bin/true)"
done >"$work/true"
report "/bin/true" ms 0.15 "$work/true" 1 2
