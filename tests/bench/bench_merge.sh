#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Time and memory of ergon merge of RANKS (16384) x ROWS (100), warm page cache, best of 5.
# Exits 1 when a target is missed.
set -u
top_builddir=${top_builddir:-.}
ranks=${1:-16384}
rows=${2:-100}
work=$(mktemp -d "${TMPDIR:-/tmp}/ergon-bench.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
mkdir "$work/run"
"$top_builddir/tests/bench/mkranks" "$work/run" "$ranks" "$rows" 64 || exit 99
for _ in 1 2 3 4 5; do
	"$top_builddir/tests/bench/peak" "$top_builddir/ergon" merge "$work/run" 2>&1 >"$work/out" || exit 1
done | sort -n | awk -v ranks="$ranks" -v rows="$rows" '
	NR == 1 { s = $1 } $3 > kb { kb = $3 }
	END {
		printf "merge %d ranks x %d rows: %.2f s, %.1f MB (target <= 4 s, <= 100 MB)\n", ranks, rows, s, kb / 1024
		exit s > 4 || kb > 100 * 1024
	}'
rc=$?
grep -q '^conservation  package_j .*: OK' "$work/out" || { echo "not conserved"; exit 1; }
exit $rc
