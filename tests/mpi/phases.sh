#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Known watts through the kernel's perf path: two ranks on a core each, on a
# node that draws 100 W. While rank 0 computes 2 s, rank 1 waits: its
# MPI_Barrier row holds half of the node's joules of that time within 1 %,
# and all rows + unattributed are the node's joules to 1e-9.
. "$(dirname "$0")/lib.sh"

watts=100
sysroot=$work/sysroot
# One package: with more, each would draw 100 W.
sh "$top_srcdir/tests/standin/make-sysroot" "$sysroot" $watts --packages 1
status=$?
[ $status = 0 ] || exit $status

# shellcheck disable=SC2046
set -- $(allowed_cpus)
[ $# -ge 2 ] || { echo "two CPUs are needed"; exit 77; }
cat >"$work/bound" <<EOF
#!/bin/sh
case \${OMPI_COMM_WORLD_LOCAL_RANK:-\$MPI_LOCALRANKID} in
0) exec taskset -c $1 "\$@" ;;
*) exec taskset -c $2 "\$@" ;;
esac
EOF
chmod +x "$work/bound"

# conserved DIR: rows of all ranks + unattributed against the node files, column by column
conserved() {
	awk -F, '
	/^phase,/ { for (i = 7; i < NF; i++) { d = $i; sub(/_j$/, "", d); column[i] = d } }
	/^channel,/ { kind = "node"; next }
	/^# ergon-rank/ { kind = "rank" }
	/^#/ || /^phase,/ { next }
	kind == "node" { energy[$2] += $4; rest[$2] += $5; next }
	{ for (i = 7; i < NF; i++) held[column[i]] += $i }
	END {
		for (d in energy) {
			n++
			difference = held[d] + rest[d] - energy[d]
			if (difference < 0) difference = -difference
			printf "%s: node %.9f held %.9f unattributed %.9f\n", d, energy[d], held[d], rest[d]
			if (difference > 1e-9 * energy[d] || energy[d] <= 0) bad = 1
		}
		exit bad || !n
	}' "$1"/*.csv
}

# half FILE: the barrier row of a rank that waited 2 s
half() {
	awk -F, -v w=$watts '$3 == "MPI_Barrier" {
		want = w / 2 * $5
		printf "barrier %.3f s, %.3f J, half of the node: %.3f J\n", $5, $7, want
		exit !($5 > 1.98 && $7 > want * 0.99 && $7 < want * 1.01) }' "$1"
}

all() {
	"$mpicc" -O1 -o "$work/$mpi/phases" "$here/phases.c" || { not_ok "compile"; return; }
	for try in 1 2 3; do
		results=$work/$mpi/results.$try
		mkdir "$results"
		launch 2 "$lib" ERGON_OUTPUT_DIR="$results" ERGON_SYSROOT="$sysroot" \
			ERGON_MECHANISM=perf -- "$work/bound" "$work/$mpi/phases"
		check "exit status" [ $? = 0 ]
		check "nothing on stderr" [ ! -s "$err" ]
		dir=$(echo "$results"/ergon.*)
		check "sum of rows + unattributed = node" conserved "$dir"
		for f in "$dir"/rank.*.csv; do check "$(basename "$f") whole" whole "$f" complete; done
		# A busy machine samples late; the mean is right, the edges are not.
		half "$dir"/rank.*.1.csv && break
		echo "try $try: not within 1 %"
	done
	check "rank 1's barrier holds half the node's joules" half "$dir"/rank.*.1.csv

	awk -F, -v OFS=, '$3 == "MPI_Barrier" { $7 = sprintf("%.9f", $7 + 0.000001) } { print }' \
		"$dir"/rank.*.1.csv >"$work/broken"
	cp "$work/broken" "$(echo "$dir"/rank.*.1.csv)"
	if conserved "$dir" >/dev/null; then not_ok "a broken file is noticed"; else ok "a broken file is noticed"; fi
}

each_mpi all
finish
