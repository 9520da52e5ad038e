#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Jobs that end badly end as they would without us, and what was measured is
# there: a rank that could say goodbye has a CSV with its state, one that
# could not has a ledger with the last interval's state.
. "$(dirname "$0")/lib.sh"

results=$work/results

left=
# ending HOW STATE: STATE of rank 1's CSV, or ledger
ending() {
	how=$1 state=$2
	[ -z "$left" ] || rm -rf "$left"
	rm -rf "$results"
	mkdir "$results"
	launch 2 "" -- "$work/$mpi/endings" "$how"
	plain=$?
	launch 2 "$lib" ERGON_OUTPUT_DIR="$results" ERGON_MECHANISM=model -- "$work/$mpi/endings" "$how"
	with=$?
	# MPICH reports whichever rank its launcher noticed first.
	case $mpi:$how:$plain:$with in
	mpich:_exit:[59]:[59] | mpich:exit:[59]:[59]) with=$plain ;;
	esac
	check "$how: exit status $plain" [ "$with" = "$plain" ]
	check "$how: not a timeout" [ "$plain" -ne 124 ]
	csv=$(find "$results" -name 'rank.*.1.csv')
	ledger=$(find "$results" -name 'rank.*.1.ledger')
	case $state in
	ledger)
		check "$how: rank 1 left its ledger" [ -n "$ledger" ]
		check "$how: with its rows" grep -aq MPI_Barrier "$ledger"
		check "$how: and no CSV" [ -z "$csv" ]
		;;
	*)
		check "$how: rank 1 left its CSV" [ -n "$csv" ]
		check "$how: state $state" whole "$csv" "$state"
		check "$how: its calls" [ "$(calls "$csv" MPI_Barrier)" = 10 ]
		check "$how: no ledger" [ -z "$ledger" ]
		check "$how: 0.4 s of its own" awk -F, '$2 == "app" { exit !($5 > 0.39 && $5 < 5) }' "$csv"
		;;
	esac
	check "$how: rank 0 left something" [ -n "$(find "$results" -name 'rank.*.0.*')" ]
	check "$how: the node too" [ -n "$(find "$results" -name 'node.*')" ]
	check "$how: no half-written file" [ -z "$(find "$results" -name '*.tmp.*')" ]
	check "$how: ranks + unattributed = node" books_close "$results"
	left=$(live_dirs "$results")
}

all() {
	"$mpicc" -O1 -o "$work/$mpi/endings" "$here/endings.c" || { not_ok "compile"; return; }
	ending abort aborted
	ending exit noFinalize
	ending _exit ledger
	ending segv ledger
	ending kill ledger
	# The killed job could not remove its directory in shared memory.
	check "a killed job left its live directory" [ -d "$left" ]
	touch -d '2 minutes ago' "$left"
	rm -rf "$results"
	mkdir "$results"
	launch 2 "$lib" ERGON_OUTPUT_DIR="$results" ERGON_MECHANISM=model -- "$work/$mpi/endings" none
	check "the next job: exit status" [ $? = 0 ]
	check "the next job: complete" [ "$(find "$results" -name 'rank.*.csv' | wc -l)" = 2 ]
	check "the next job: removed what was left" [ ! -e "$left" ]
}

each_mpi all
finish
