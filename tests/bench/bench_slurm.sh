#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the plugin adds to `srun -N4 true` on a private Slurm of four nodes: by
# turns no plugin, --energy=off and --energy=perf, on four nodes that are one
# host. Medians of the differences within a turn.
. "${top_srcdir:?make bench sets it}/tests/slurm/common"
known_watts 100
write_conf
start_cluster --nodes 4
rounds=${BENCH_LAUNCHES:-40}

all_idle() { no_stepds && [ "$(sinfo -h -t idle -o %D)" = 4 ]; }

# launch OPTION...: milliseconds until srun has returned, on idle nodes
launch() {
	local begin end
	wait_for 30 all_idle || exit 1
	begin=$EPOCHREALTIME
	srun -Q -N4 "$@" true || exit 1
	end=$EPOCHREALTIME
	awk -v b="$begin" -v e="$end" 'BEGIN { printf "%.2f\n", (e - b) * 1e3 }'
}

plugin_off
launch >/dev/null
for _ in $(seq "$rounds"); do
	plugin_off
	none=$(launch) || exit 1
	plugin_on
	off=$(launch --energy=off) || exit 1
	perf=$(launch --energy=perf) || exit 1
	echo "$none $off $perf"
done >"$D/pairs"

# median COLUMN: of the differences to the first column
median() {
	awk -v c="$1" '{ print c == 1 ? $1 : $c - $1 }' "$D/pairs" | sort -n |
		awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
base=$(median 1)
for column in "2 --energy=off" "3 --energy=perf"; do
	added=$(median "${column%% *}")
	awk -v b="$base" -v a="$added" -v n="${column#* }" 'BEGIN {
		printf "srun -N4 %s true: %.1f ms without the plugin, %.1f ms added, ratio %.3f (target: 5 ms added)\n",
			n, b, a, (b + a) / b }'
done
