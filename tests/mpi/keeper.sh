#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The keeper dies: another rank takes over, the gap is marked, and the books
# still close over the ranks that live and the one that does not. Ranks of a
# mock MPI, so that no launcher kills the rest.
. "$(dirname "$0")/lib.sh"

mpi=mock
sysroot=$work/sysroot
sh "$top_srcdir/tests/standin/make-sysroot" "$sysroot" 100 --packages 1
status=$?
[ $status = 0 ] || exit $status
make_mockrank

# wait_for PATTERN: a file of that name, at most 4 s
wait_for() {
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		found=$(find "$work" -name "$1")
		[ -n "$found" ] && return 0
		sleep 0.2
	done
	return 1
}

: >"$err"
# rank R SECONDS [HABIT]. exec: all have this shell as their parent, which makes them one job.
rank() {
	cd "$work" && LD_PRELOAD=$lib PMI_RANK=$1 PMI_SIZE=3 ERGON_OUTPUT_DIR=. ERGON_SYSROOT=$sysroot \
		ERGON_MECHANISM=perf exec "$work/mockrank" "$2" ${3:-} 2>>"$err"
}
rank 0 30 &
leader=$!
check "the first rank keeps the node's account" wait_for 'node.*.ledger'
rank 1 5 &
one=$!
rank 2 5 &
two=$!
sleep 2
kill -9 "$leader"
wait "$one"
check "rank 1 ends well" [ $? = 0 ]
wait "$two"
check "rank 2 ends well" [ $? = 0 ]
wait "$leader" 2>/dev/null
check "nothing on stderr" [ ! -s "$err" ]
cat "$err"
dir=$(echo "$work"/ergon.*)
check "one job" [ -d "$dir" ]
for r in 1 2; do
	f=$dir/rank.0.$r.csv
	check "rank $r whole" whole "$f" complete
	check "rank $r: the gap is marked" grep -q 'gap' "$f"
	check "rank $r: samples before and after" awk '/^# start=/ { match($0, / samples=[0-9]+/)
		exit !(substr($0, RSTART + 9, RLENGTH - 9) > 250) }' "$f"
done
check "the dead rank's ledger" [ -f "$dir/rank.0.0.ledger" ]
check "the node's account was finished" [ -n "$(find "$dir" -name 'node.*.csv')" ]
check "its ledger is kept for the dead rank" [ -n "$(find "$dir" -name 'node.*.ledger')" ]
check "nothing left in shared memory" no_live_dir "$work"
check "ranks, the dead one too, + unattributed = node" books_close "$work"
# About a second is missing: until a rank looked and the counters were open again.
check "the node's joules" awk -F, '/^package/ { print; exit !($4 > 300 && $4 < 520) }' "$dir"/node.*.csv

# Two programs in one step, one after the other.
rm -rf "$work"/ergon.*
for program in 1 2; do
	rank 0 1 &
	one=$!
	rank 1 1 &
	wait "$!" "$one"
done
check "two programs: two directories" [ "$(find "$work" -maxdepth 1 -name 'ergon.*' | wc -l)" = 2 ]
for step in "$work"/ergon.*; do
	check "$(basename "$step"): two ranks and the node" [ "$(find "$step" -name '*.csv' | wc -l)" = 3 ]
done

# Programs that close files they do not know, or change their directory.
for habit in close chdir; do
	for r in 0 1; do
		rm -rf "$work"/ergon.*
		: >"$err"
		rank $r 2 $habit &
		one=$!
		rank $((1 - r)) 2 &
		two=$!
		wait "$one" && wait "$two"
		check "$habit in rank $r: both end well" [ $? = 0 ]
		check "$habit in rank $r: nothing on stderr" [ ! -s "$err" ]
		check "$habit in rank $r: both wrote" [ "$(find "$work"/ergon.* -name 'rank.*.csv' | wc -l)" = 2 ]
		check "$habit in rank $r: ranks + unattributed = node" books_close "$work"
		live_dirs "$work" | xargs -r rm -rf
	done
done

# A board that someone else publishes; the sampler of one job is that someone here.
rm -rf "$work"/ergon.*
rank 0 30 &
leader=$!
check "someone samples" wait_for 'node.*.ledger'
live=$(live_dirs "$work")
mkdir -p "$work/run/77.0.3" "$work/slurm"
ln -s "$live/board" "$work/run/77.0.3/board"
tasks=
for r in 0 1; do
	(
		export LD_PRELOAD="$lib" ERGON_BOARD="$work/run/77.0.3/board" ERGON_OUTPUT_DIR="$work/slurm" \
			SLURM_JOB_ID=77 SLURM_STEP_ID=0 SLURM_NODEID=3 SLURMD_NODENAME=n3 \
			SLURM_PROCID=$r SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=$r
		exec "$work/mockrank" 2
	) &
	tasks="$tasks $!"
done
for task in $tasks; do
	wait "$task"
	check "a rank with a board ends well" [ $? = 0 ]
done
kill -9 "$leader"
wait "$leader" 2>/dev/null
rm -rf "$live"
slurm=$work/slurm/ergon.77.0
check "the node's name is Slurm's" [ -f "$slurm/node.n3.csv" ]
for r in 0 1; do
	check "rank $r with a board: whole" whole "$slurm/rank.0.$r.csv" complete
done
check "with a board: joules of 2 s" awk -F, '/^package/ { exit !($4 > 150 && $4 < 250) }' "$slurm/node.n3.csv"
check "with a board: ranks + unattributed = node" books_close "$work/slurm"
check "with a board: nothing left in shared memory" \
	[ -z "$(find /dev/shm -maxdepth 1 -name "ergon.*$(basename "$work")*")" ]
finish
