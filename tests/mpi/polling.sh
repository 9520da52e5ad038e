#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Time of polls: in dense stretches, where only some are stamped, and out of
# them; also where others want the CPU.
. "$(dirname "$0")/lib.sh"

mpi=mock
# The program is its own libmpi: PMPI_ names in the global scope.
"$CC" -O1 -c -o "$work/polling.o" "$here/polling.c" &&
	"$CC" -rdynamic -Wl,--unresolved-symbols=ignore-all -o "$work/polling" "$work/polling.o" ||
	{ echo "cannot compile"; exit 1; }

# close_to WHAT GOT WANT TOLERANCE
close_to() {
	awk -v g="$2" -v w="$3" -v t="$4" -v what="$1" 'BEGIN {
		printf "%s: %.4f s, the program says %.4f s\n", what, g, w
		d = g - w; if (d < 0) d = -d; exit d > t * w }'
}

seconds() {
	awk -F, -v a="$2" '$2 == a { t += $5 } END { printf "%.9f\n", t }' "$1"
}

pattern() {
	name=$1 tolerance=$2
	rm -rf "$work"/ergon.*
	LD_PRELOAD=$lib PMI_RANK=0 PMI_SIZE=1 ERGON_OUTPUT_DIR=$work ERGON_MECHANISM=model \
		timeout -k 5 60 "$work/polling" "$name" >"$out" 2>"$err"
	status=$?
	check "$name: exit status $status" [ $status = 0 ]
	cat "$err"
	csv=$(find "$work" -name 'rank.*.csv')
	check "$name: whole" whole "$csv" complete
	read -r polls app <"$out"
	check "$name: polling" close_to "polling" "$(seconds "$csv" poll)" "$polls" "$tolerance"
	check "$name: computing" close_to "computing" "$(seconds "$csv" app)" "$app" "$tolerance"
}

pattern spin 0.1
pattern slow 0.1
# Two stamps around a poll of nothing: only the computing can be compared.
pattern sparse 1
check "sparse: computing" close_to "computing" "$(seconds "$csv" app)" "$app" 0.1

# Twice as many busy loops as CPUs: half of the time somebody else runs.
load=
for i in $(seq $(($(nproc) * 2))); do
	timeout 60 sh -c 'while :; do :; done' &
	load="$load $!"
done
pattern spin 0.25
# shellcheck disable=SC2086
kill $load
finish
