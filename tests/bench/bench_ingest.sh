#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ergon ingest of RECORDS (300000) records, best of 5, beside what SQLite alone
# takes to store the same rows with the same indexes; and one job found in them.
# Exits 1 when a target is missed.
set -u
top_builddir=${top_builddir:-.}
records=${1:-300000}
[ -x "$top_builddir/tests/tools/journal_make" ] || { echo "built without SQLite"; exit 77; }
command -v sqlite3 >/dev/null || { echo "sqlite3 not found"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/ergon-bench.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
mkdir -m 0700 "$work/spool"
"$top_builddir/tests/tools/journal_make" --many "$records" >"$work/spool/n1.journal" || exit 99
printf 'SpoolDir = %s/spool\nStore = sqlite:%s/e.db\n' "$work" "$work" >"$work/conf"

# best COMMAND...: the shortest of five runs, in ms; $work/reset comes before each
best() {
	for _ in 1 2 3 4 5; do
		sh "$work/reset"
		start=$(date +%s%N)
		"$@" >"$work/out" || exit 1
		echo $((($(date +%s%N) - start) / 10000))
	done | sort -n | awk 'NR == 1 { printf "%.2f", $1 / 100 }'
}

echo "rm -f '$work'/e.db*" >"$work/reset"
ingest=$(best "$top_builddir/ergon" ingest --quiet --config "$work/conf")
[ -n "$ingest" ] || exit 1

echo "rm -f '$work'/bare.db*" >"$work/reset"
{
	echo 'PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-65536;'
	sqlite3 "$work/e.db" '.schema record' | grep -v '^CREATE VIEW'
	echo "ATTACH '$work/e.db' AS full; INSERT INTO record SELECT * FROM full.record;"
} >"$work/bare.sql"
bare=$(best sh -c "sqlite3 '$work/bare.db' <'$work/bare.sql'")

: >"$work/reset"
lookup=$(best "$top_builddir/ergon" acct --config "$work/conf" -j 1000)
nothing=$(best "$top_builddir/ergon" --version)

awk -v n="$records" -v ingest="$ingest" -v bare="$bare" -v lookup="$lookup" -v nothing="$nothing" 'BEGIN {
	rate = n / ingest * 1000
	printf "ingest: %d records/s (target >= 100000), %.1f times the time of bare inserts of the rows\n",
		rate, ingest / bare
	printf "acct -j of one job in %d records: %.1f ms beyond starting the program (target <= 10 ms)\n",
		n, lookup - nothing
	exit rate < 100000 || lookup - nothing > 10
}'
