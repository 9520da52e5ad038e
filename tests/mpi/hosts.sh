#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Unusual ways into MPI: libmpi opened RTLD_LOCAL, other preloaded tools,
# sessions without MPI_Init, no launcher, many threads.
. "$(dirname "$0")/lib.sh"

results=$work/results
# compare NAME N PRELOADS COMMAND...: with and without; leaves files in $results
compare() {
	name=$1 n=$2 preload=$3 plain_preload=$4
	shift 4
	rm -rf "$results"
	mkdir "$results"
	launch "$n" "$plain_preload" -- "$@"
	status=$?
	[ $status = 77 ] && { ok "$name: not in this MPI"; return 1; }
	sort "$out" >"$out.plain"
	launch "$n" "$preload" ERGON_OUTPUT_DIR="$results" ERGON_MECHANISM=model -- "$@"
	with=$?
	sort "$out" >"$out.with"
	check "$name: exit status $status" [ $with = $status ]
	check "$name: same output" cmp "$out.plain" "$out.with"
	check "$name: nothing on stderr" [ ! -s "$err" ]
	check "$name: $n rank files" [ "$(find "$results" -name 'rank.*.csv' | wc -l)" = "$n" ]
	check "$name: nothing left" no_live_dir "$results"
	file=$(find "$results" -name 'rank.*.0.csv')
	check "$name: whole" whole "$file" complete
}

expect() {
	check "$name: $1=$2" [ "$(calls "$file" "$1")" = "$2" ]
}

all() {
	bin=$work/$mpi
	"$mpicc" -O1 -Wno-stringop-overflow -shared -fPIC -Dmain=plugin_main -o "$bin/plugin.so" "$here/programs.c" &&
	"$CC" -O1 -o "$bin/host" "$here/host.c" -ldl &&
	"$mpicc" -O1 -shared -fPIC -o "$bin/stacked.so" "$here/stacked.c" -ldl &&
	"$mpicc" -O1 -Wno-stringop-overflow -o "$bin/programs" "$here/programs.c" &&
	"$mpicc" -O1 -o "$bin/sessions" "$here/sessions.c" &&
	"$mpicc" -O1 -o "$bin/spawn" "$here/spawn.c" &&
	"$mpicc" -O1 -o "$bin/threads" "$here/threads.c" -lpthread ||
		{ not_ok "compile"; return; }

	compare "RTLD_LOCAL" 2 "$lib" "" "$bin/host" "$bin/plugin.so" ring &&
		{ expect MPI_Send 100; expect MPI_Recv 100; expect MPI_Finalize 1; }
	compare "stacked, ours first" 2 "$lib:$bin/stacked.so" "$bin/stacked.so" "$bin/programs" imbalance &&
		expect MPI_Barrier 3
	compare "stacked, ours second" 2 "$bin/stacked.so:$lib" "$bin/stacked.so" "$bin/programs" imbalance &&
		expect MPI_Barrier 3
	compare "sessions" 2 "$lib" "" "$bin/sessions" &&
		{ expect MPI_Allreduce 10; expect MPI_Session_init 1; expect MPI_Session_finalize 1; expect MPI_Init 0; }
	compare "threads" 1 "$lib" "" "$bin/threads" &&
		{ expect MPI_Allreduce 4000; expect MPI_Comm_dup 4; expect MPI_Init_thread 1; }

	name=spawn
	rm -rf "$results"
	mkdir "$results"
	if launch 1 "" -- "$bin/spawn" && sort "$out" >"$out.plain" && [ -s "$out.plain" ]; then
		launch 1 "$lib" ERGON_OUTPUT_DIR="$results" ERGON_MECHANISM=model -- "$bin/spawn"
		check "spawn: exit status" [ $? = 0 ]
		sort "$out" >"$out.with"
		check "spawn: same output" cmp "$out.plain" "$out.with"
		check "spawn: one job" [ "$(find "$results" -name 'ergon.*' | wc -l)" = 1 ]
		check "spawn: a file for each process" [ "$(find "$results" -name 'rank.*.csv' | wc -l)" = 3 ]
		check "spawn: two of rank 0" [ "$(find "$results" -name 'rank.*.0.csv' | wc -l)" = 2 ]
		check "spawn: one account of the node" [ "$(find "$results" -name 'node.*' | wc -l)" = 1 ]
	else
		ok "spawn: does not work here without us either"
	fi

	# The preload in the environment of everything: timeout, launcher, its helpers.
	name="preloaded launcher"
	rm -rf "$results"
	mkdir "$results"
	(
		export LD_PRELOAD="$lib"
		launch 2 "" ERGON_OUTPUT_DIR="$results" ERGON_MECHANISM=model -- "$bin/programs" ring
	)
	check "preloaded launcher: exit status" [ $? = 0 ]
	check "preloaded launcher: nothing on stderr" [ ! -s "$err" ]
	check "preloaded launcher: two ranks, one node, nothing else" \
		[ "$(find "$results" -type f | wc -l)" = 3 ]

	name=singleton
	rm -rf "$results"
	mkdir "$results"
	LD_PRELOAD=$lib ERGON_OUTPUT_DIR=$results ERGON_MECHANISM=model \
		timeout -k 5 60 "$bin/programs" tiny >"$out" 2>"$err"
	check "singleton: exit status" [ $? = 0 ]
	check "singleton: output" grep -q "^rank 0 sum 1000000$" "$out"
	check "singleton: one rank file" [ "$(find "$results" -name 'rank.*.csv' | wc -l)" = 1 ]
	file=$(find "$results" -name 'rank.*.0.csv')
	expect MPI_Allreduce 1000000

	name=disabled
	rm -rf "$results"
	mkdir "$results"
	launch 2 "$lib" ERGON_DISABLE=1 ERGON_OUTPUT_DIR="$results" -- "$bin/programs" ring
	check "ERGON_DISABLE=1: exit status" [ $? = 0 ]
	check "ERGON_DISABLE=1: no file" [ -z "$(find "$results" -type f)" ]
	launch 2 "$lib" ERGON_OUTPUT_DIR="$results/none" -- "$bin/programs" ring
	check "no output directory: exit status" [ $? = 0 ]
	check "no output directory: one line on stderr" [ "$(grep -c . "$err")" = 1 ]
	check "no output directory: it says what to do" grep -q ERGON_OUTPUT_DIR "$err"
	launch 2 "$lib" ERGON_OUTPUT_DIR="$results" ERGON_MECHANISM=nonsense -- "$bin/programs" ring
	check "unknown mechanism: exit status" [ $? = 0 ]
	check "unknown mechanism: one line on stderr" [ "$(grep -c . "$err")" = 1 ]
	file=$(find "$results" -name 'rank.*.0.csv')
	check "unknown mechanism: times all the same" [ "$(calls "$file" MPI_Send)" = 100 ]
	check "unknown mechanism: no joules" awk -F, '!/^#/ && !/^phase/ && $7 != "" { exit 1 }' "$file"
}

each_mpi all
finish
