#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Four nodes of 100 W, two ranks each, under srun with the plugin's board:
# the even ranks compute for 2 s, the odd ones wait for them. Their barrier
# rows hold half of their node's joules of that time, and on every node all
# rows + unattributed are the node's. Then one rank is killed.
. "${top_srcdir:-.}/tests/slurm/common"

lib=$top_builddir/.libs/libergon-mpi.so
[ -f "$lib" ] || skip "no $lib"
known_watts 100
cp "$lib" "$D/preloaded.so" # a clone may lie where other users cannot look
write_conf
start_cluster --nodes 4
case " $(srun --mpi=list 2>&1 | tr '\n\t' '  ') " in
*pmix*) mpicc=${MPICC_OPENMPI:-} launch="--mpi=pmix" ;;
*pmi2*) mpicc=${MPICC_MPICH:-} launch="--mpi=pmi2" ;;
*) mpicc='' ;;
esac
[ -n "$mpicc" ] || skip "no MPI that this srun can start"
"$mpicc" -O1 -o "$D/phases" "$top_srcdir/tests/mpi/phases.c" &&
	"$mpicc" -O1 -o "$D/endings" "$top_srcdir/tests/mpi/endings.c" || exit 1

# live_dirs: what this cluster's jobs have in shared memory
live_dirs() { find /dev/shm -maxdepth 1 -name "ergon.*$(basename "$D")*"; }

# close_books DIR: ergon merge is content with every column
close_books() {
	"$ergon" merge "$1" >"$D/merged" 2>&1
	grep '^conservation' "$D/merged" | grep -v ': OK ' && return 1
	grep '^conservation.*: OK ' "$D/merged" || { cat "$D/merged"; return 1; }
}

# waited DIR: the barrier rows of the odd ranks, within 1 %
waited() {
	local r
	for r in 1 3 5 7; do
		awk -F, -v r=$r '$3 == "MPI_Barrier" { want = 50 * $5
			printf "rank %d: barrier %.3f s, %.3f J, half of the node: %.3f J\n", r, $5, $7, want
			bad = !($5 > 1.9 && $7 > want * 0.99 && $7 < want * 1.01); n++ }
			END { exit bad || n != 1 }' "$1"/rank.*."$r".csv || return 1
	done
}

# Four nodes share this machine's CPUs: samples may be late at the edges.
for try in 1 2 3; do
	rm -rf "$D/out"
	mkdir -m 777 "$D/out"
	timeout 120 srun -N4 -n8 $launch --energy=perf,mpi,out="$D/out" "$D/phases" >"$D/stdout" 2>"$D/stderr"
	same "exit status" 0 $?
	same "nothing on stdout" "" "$(cat "$D/stdout")"
	same "nothing on stderr" "" "$(cat "$D/stderr")"
	waited "$D/out"/ergon.* && break
	echo "try $try: not within 1 %"
done
check "rank files of 8 ranks" test "$(find "$D/out" -name 'rank.*.csv' | wc -l)" = 8
check "node files of 4 nodes" test "$(find "$D/out" -name 'node.n[1-4].csv' | wc -l)" = 4
check "nothing else" test "$(find "$D/out" -type f | wc -l)" = 12
check "waiting ranks hold half of their nodes" waited "$D/out"/ergon.*
check "ranks + unattributed = nodes" close_books "$D/out"/ergon.*
check "nothing left in shared memory" test -z "$(live_dirs)"

# An ordinary user, on a whole node: the board is root's, all else is theirs.
rm -rf "$D/out"
mkdir -m 777 "$D/out"
(cd / && timeout 120 setpriv --reuid=65534 --regid=65534 --clear-groups \
	srun -N1 -n2 --exclusive $launch --energy=perf,mpi,out="$D/out" "$D/phases") >"$D/stdout" 2>&1
same "an ordinary user: exit status" 0 $?
same "an ordinary user: no output" "" "$(cat "$D/stdout")"
check "an ordinary user: files are theirs" \
	test "$(find "$D/out" -name '*.csv' -user 65534 | wc -l)" = 3
check "an ordinary user: ranks + unattributed = nodes" close_books "$D/out"/ergon.*
check "an ordinary user: nothing left in shared memory" test -z "$(live_dirs)"

# kill -9 of a rank: the step ends as without us, what was measured is there.
timeout 120 srun -N4 -n8 $launch --energy=off "$D/endings" kill >/dev/null 2>&1
plain=$?
rm -rf "$D/out"
mkdir -m 777 "$D/out"
timeout 120 srun -N4 -n8 $launch --energy=perf,mpi,out="$D/out" "$D/endings" kill >/dev/null 2>&1
same "a killed rank: exit status" $plain $?
check "the killed rank's ledger" test -n "$(find "$D/out" -name 'rank.*.7.ledger')"
check "something of every rank" test "$(find "$D/out" -name 'rank.*' | sed 's/.*\.\([0-7]\)\..*/\1/' | sort -u | wc -l)" = 8
check "ranks + unattributed = nodes" close_books "$D/out"/ergon.*
# Killed ranks cannot tidy up; the plugin does, after srun has returned.
for _ in $(seq 100); do
	[ -n "$(live_dirs)" ] || break
	sleep 0.1
done
check "a killed rank: nothing left in shared memory" test -z "$(live_dirs)"
finish
