#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Cost of a read by number of domains; rate and cost of sampling at 1000 Hz, idle and loaded.
# ERGON_BENCH_S: seconds per rate measurement [20]; ERGON_BENCH_LONG_S: of the long ones [60].
: "${top_srcdir:?make bench sets it}" "${top_builddir:?}"
seconds=${ERGON_BENCH_S:-20}
long=${ERGON_BENCH_LONG_S:-60}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/ergon-bench.XXXXXX")
load=
trap 'rm -rf "$tmp"; [ -z "$load" ] || kill $load' EXIT
trap 'exit 1' HUP INT TERM

make_root() { "$top_srcdir/tests/standin/make-sysroot" "$@"; }
make_root "$tmp/1" 100 && make_root "$tmp/2" 100 --dram 10 &&
	make_root "$tmp/3" 100 --dram 10 --core 50 || exit $?
"$top_builddir/tests/bench/bench_read" "$tmp/1" "$tmp/2" "$tmp/3"
export ERGON_SYSROOT="$tmp/2"
cpu=$(($(nproc) - 1))
echo "-- everything on CPU $cpu; machine load $(cut -d' ' -f1 /proc/loadavg)"
taskset -c "$cpu" "$top_builddir/ergon" bench -m perf -t "$long" --compare
echo "-- a busy loop on CPU $cpu, too"
taskset -c "$cpu" sh -c 'while :; do :; done' &
load=$!
taskset -c "$cpu" "$top_builddir/ergon" bench -m perf -t "$long" --compare
kill "$load"
echo "-- as it is"
"$top_builddir/tests/bench/bench_rate" 1000 "$seconds"
echo "-- with a busy loop on every CPU"
for _ in $(seq "$(nproc)"); do
	sh -c 'while :; do :; done' &
	load="$load $!"
done
"$top_builddir/tests/bench/bench_rate" 1000 "$seconds"
