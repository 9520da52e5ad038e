#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Memory of ergon merge must not grow with the ranks: 1,024 ranks may need
# little more than 64 do. tests/bench/bench_merge.sh measures the full size.
set -u
: "${top_builddir:?}"
[ -n "${ERGON_SANITIZERS:-}" ] && { echo "skipped: a sanitizer's own memory would be measured"; exit 77; }
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
mkranks=$top_builddir/tests/bench/mkranks
peak_kb() { # RANKS
	mkdir "$work/$1" && "$mkranks" "$work/$1" "$1" 100 64 || exit 99
	"$top_builddir/tests/bench/peak" "$top_builddir/ergon" merge "$work/$1" 2>&1 >"$work/out.$1" |
		sed -n 's/.* \([0-9]*\) kB$/\1/p'
}
few=$(peak_kb 64)
many=$(peak_kb 1024)
echo "64 ranks: $few kB, 1024 ranks: $many kB"
grep -q '^conservation  package_j .*: OK' "$work/out.1024" || { echo "FAIL: not conserved"; exit 1; }
[ "$many" -le $((few + 1024)) ] || { echo "FAIL: memory grows with the ranks"; exit 1; }
