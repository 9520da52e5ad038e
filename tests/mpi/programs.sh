#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Programs with and without the interposer: same output, same exit status,
# every call counted once, times that add up.
. "$(dirname "$0")/lib.sh"

results=$work/results
# program NAME N FUNCTION=CALLS...: calls of rank 0; ">N" means more than N
program() {
	name=$1 n=$2
	shift 2
	rm -rf "$results"
	mkdir "$results"
	launch "$n" "" TEST_FILE="$work/$mpi/file" -- "$work/$mpi/programs" "$name"
	status=$?
	[ $status = 77 ] && { ok "$name: not in this MPI"; return; }
	sort "$out" >"$out.plain"
	launch "$n" "$lib" TEST_FILE="$work/$mpi/file" ERGON_OUTPUT_DIR="$results" \
		ERGON_MECHANISM=model ERGON_FREQ=100 $extra -- "$work/$mpi/programs" "$name"
	with=$?
	sort "$out" >"$out.with"
	check "$name: exit status $status" [ $with = $status ]
	check "$name: same output" cmp -s "$out.plain" "$out.with"
	check "$name: nothing on stderr" [ ! -s "$err" ]
	[ -s "$err" ] && cat "$err"
	check "$name: $n rank files" [ "$(find "$results" -name 'rank.*.csv' | wc -l)" = "$n" ]
	check "$name: one node file" [ "$(find "$results" -name 'node.*.csv' | wc -l)" = 1 ]
	check "$name: no live directory left" no_live_dir "$results"
	check "$name: no other file" [ -z "$(find "$results" -type f ! -name '*.csv')" ]
	for f in "$results"/*/rank.*.csv; do
		check "$name: $(basename "$f") whole" whole "$f" complete
	done
	set -- MPI_Init=1 MPI_Finalize=1 "$@"
	file=$(find "$results" -name 'rank.*.0.csv')
	for want in "$@"; do
		got=$(calls "$file" "${want%%=*}")
		case ${want#*=} in
		">"*) check "$name: $want, $got" [ "$got" -gt "${want#*=>}" ] ;;
		*) check "$name: $want" [ "$got" = "${want#*=}" ] ;;
		esac
	done
}

all() {
	"$mpicc" -O1 -Wno-stringop-overflow -o "$work/$mpi/programs" "$here/programs.c" || { not_ok "compile"; return; }
	extra=
	program ring 2 MPI_Send=100 MPI_Recv=100
	program imbalance 2 MPI_Barrier=3
	program poll_test 2 MPI_Irecv=1 "MPI_Test=>1"
	program poll_iprobe 2 MPI_Recv=1 "MPI_Iprobe=>1"
	program testsome 2 MPI_Irecv=4 "MPI_Testsome=>1"
	program nonblocking 2 MPI_Iallreduce=10 MPI_Iallgather=10 MPI_Waitall=10
	program persistent 2 MPI_Send_init=1 MPI_Recv_init=1 MPI_Startall=10 MPI_Waitall=10
	program persistent_collective 2 MPI_Allreduce_init=1 MPI_Start=10 MPI_Wait=10
	program large_count 2 MPI_Allreduce_c=10 MPI_Allreduce=0
	program rma 2 MPI_Win_create=1 MPI_Win_fence=4 MPI_Put=1 MPI_Get_accumulate=1 MPI_Win_free=1
	program file 2 MPI_File_open=1 MPI_File_write_at_all=1 MPI_File_sync=1 MPI_File_read_at=1 MPI_File_close=1
	program split 2 MPI_Comm_split=1 MPI_Comm_dup=1 MPI_Comm_free=2
	program tiny 1 MPI_Allreduce=1000000
	program fork_exit 2 MPI_Barrier=1
	program fork_exec 2 MPI_Barrier=1
	extra=LD_BIND_NOW=1
	program ring 2 MPI_Send=100 MPI_Recv=100
}

each_mpi all
finish
