#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Every wrapper, against a libmpi made from the table: it reaches the function
# of its name, with every argument and the result unchanged, before MPI_Init,
# while time is kept and after MPI_Finalize; and its calls are counted.
. "$(dirname "$0")/lib.sh"

mpi=mock
calls_in=$top_srcdir/pmpi/calls.in
for part in library program; do
	awk -v part=$part -f "$here/mock.awk" "$calls_in" >"$work/$part.c"
done
"$CC" -O1 -shared -fPIC -o "$work/libmock.so" "$work/library.c" &&
	"$CC" -O1 -o "$work/program" "$work/program.c" "$work/libmock.so" -Wl,-rpath,"$work" ||
	{ echo "cannot compile"; exit 1; }

run() {
	timeout -k 5 60 env PMI_RANK=0 PMI_SIZE=1 ERGON_OUTPUT_DIR="$work" ERGON_MECHANISM=model "$@" \
		"$work/program" >"$out" 2>"$err"
}

run
check "without the interposer" [ $? = 0 ]
run LD_PRELOAD="$lib"
check "arguments, functions, results" [ $? = 0 ]
grep -v '^done$' "$out"
check "it ran to its end" grep -q '^done$' "$out"
check "nothing on stderr" [ ! -s "$err" ]
cat "$err"
csv=$(find "$work" -name 'rank.*.0.csv')
check "rank file whole" whole "$csv" complete
check "every function has a row with its calls and its activity" awk -F, -v table="$calls_in" '
	BEGIN { while ((getline line < table) > 0) {
		split(line, f, " +")
		if (line !~ /^#/ && f[1] != "") activity[f[1]] = f[2] } }
	/^#/ || /^phase,/ || $3 == "" { next }
	{
		rows++
		if ($2 != activity[$3]) { print $3 ": activity " $2; bad = 1 }
		if ($2 != "startup" && $4 != 3) { print $3 ": " $4 " calls"; bad = 1 }
		delete activity[$3]
	}
	END {
		delete activity["MPI_Abort"]
		for (left in activity) { print left ": no row"; bad = 1 }
		exit bad
	}' "$csv"

# A limit on file sizes costs the results, not the job: no SIGXFSZ.
for blocks in 2 20 200 2000; do
	(ulimit -f $blocks; timeout -k 5 60 env PMI_RANK=0 PMI_SIZE=1 ERGON_OUTPUT_DIR="$work" \
		ERGON_MECHANISM=model LD_PRELOAD="$lib" "$work/program" 2>"$err" >/dev/null)
	check "ulimit -f $blocks" [ $? = 0 ]
done

# Nor does the line that says so end it: stderr is a file at its limit, a broken pipe.
(ulimit -f 0; timeout -k 5 60 env PMI_RANK=0 PMI_SIZE=1 ERGON_OUTPUT_DIR=/nonexistent \
	LD_PRELOAD="$lib" "$work/program" 2>"$err" >/dev/null)
check "ulimit -f 0" [ $? = 0 ]
(timeout -k 5 60 env PMI_RANK=0 PMI_SIZE=1 ERGON_OUTPUT_DIR=/nonexistent \
	LD_PRELOAD="$lib" "$work/program" 2>&1 >/dev/null; echo $? >"$work/rc") | :
check "stderr is a broken pipe" [ "$(cat "$work/rc")" = 0 ]

# A shuffled table must be noticed, or this test proves nothing.
sed 's/mock_args\[3\] = a3;/mock_args[3] = a2;/' "$work/library.c" >"$work/wrong.c"
"$CC" -O1 -shared -fPIC -o "$work/libmock.so" "$work/wrong.c"
run LD_PRELOAD="$lib"
check "a changed argument is noticed" [ $? = 1 ]
finish
