#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Who gets a package's energy: by cores, equally, nobody. Ranks of a mock MPI
# on the stand-in of known watts.
. "$(dirname "$0")/lib.sh"

mpi=mock
make_mockrank
# shellcheck disable=SC2046
set -- $(allowed_cpus)
[ $# -ge 2 ] || { echo "two CPUs are needed"; exit 77; }
first=$1 second=$2
for n in 1 2; do
	sh "$top_srcdir/tests/standin/make-sysroot" "$work/sysroot$n" 100 --packages $n
	status=$?
	[ $status = 0 ] || exit $status
done
# Both ranks must be on CPUs of different packages where there are two.
packages=$(nproc --all)
[ "$packages" = 2 ] || echo "note: $packages CPUs, the first two may be of one package"

# run PACKAGES SHARE CPUS0 CPUS1: two ranks for 2.5 s
run() {
	rm -rf "$work"/ergon.*
	tasks=
	r=0
	for cpus in "$3" "$4"; do
		(
			export LD_PRELOAD="$lib" PMI_RANK=$r PMI_SIZE=2 ERGON_OUTPUT_DIR="$work" \
				ERGON_SYSROOT="$work/sysroot$1" ERGON_MECHANISM=perf ERGON_SHARE="$2"
			exec taskset -c "$cpus" "$work/mockrank" 2.5 2>>"$err"
		) &
		tasks="$tasks $!"
		r=$((r + 1))
	done
	for task in $tasks; do wait "$task"; done
	dir=$(echo "$work"/ergon.*)
	check "$2, $1 packages: books" books_close "$work"
}

joules() { awk -F, '!/^#/ && !/^phase/ { j += $7 } END { printf "%.9f\n", j }' "$dir"/rank.*."$1".csv; }

# ratio GOT WANT: within 25 %, the ranks do not begin and end together
ratio() {
	awk -v g="$1" -v w="$2" 'BEGIN { printf "%.4f, expected %.4f\n", g, w; exit !(g > w * 0.75 && g < w * 1.25) }'
}

: >"$err"
run 1 cores "$first,$second" "$second"
check "two cores and one: 2 to 1" ratio "$(echo "$(joules 0) $(joules 1)" | awk '{ print $1 / $2 }')" 2
run 1 equal "$first,$second" "$second"
check "equal: 1 to 1" ratio "$(echo "$(joules 0) $(joules 1)" | awk '{ print $1 / $2 }')" 1
if [ "$packages" = 2 ]; then
	run 2 cores "$first" "$first"
	check "a package without ranks is nobody's" awk -F, '
		$1 == "package0" { used = $4; rest0 = $5 } $1 == "package1" { other = $4; rest1 = $5 }
		END { print used, rest0, other, rest1; exit !(used > 90 && rest0 < 1e-9 && other > 90 && rest1 == other) }' \
		"$dir"/node.*.csv
	run 2 cores "$first" "$second"
	check "a rank on each package: each holds its own" ratio \
		"$(echo "$(joules 0) $(joules 1)" | awk '{ print $1 / $2 }')" 1
fi
check "nothing on stderr" [ ! -s "$err" ]
run 1 nonsense "$first" "$second"
check "an unknown share: said once per rank at most" [ "$(grep -c ERGON_SHARE "$err")" -ge 1 ]
check "an unknown share: cores" grep -q ' share=cores ' "$dir"/rank.*.0.csv
finish
