#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# 1000 Hz for 5 s: no tick is lost silently, and none at all where the machine has time for it.
. "${top_srcdir:?make check sets it}/tests/stat/lib.sh"
: "${tmp:?}" "${ergon:?}" # set by lib.sh
need_jq

# Ticks of CPU time: idle, all.
cpu_ticks() { awk '/^cpu / { print $5 + $6, $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9; exit }' /proc/stat; }

export ERGON_SYSROOT="$top_srcdir/tests/sysroots/sapphire-rapids"
before=$(cpu_ticks)
check_exit 0 "5 s at 1000 Hz" "$ergon" stat -m powercap -F 1000 -o "$tmp/csv" --json "$tmp/json" -- sleep 5
idle=$(echo "$before $(cpu_ticks)" | awk '{ print ($3 - $1) / ($4 - $2) }')
elapsed=$(jq .elapsed_s "$tmp/json")
samples=$(jq .samples "$tmp/json")
missed=$(jq .missed "$tmp/json")
# Distances of rows, without the last one, which is no tick: how many, and how far from 1 ms 99 % of them are.
jitter=$(awk -F, 'NR > 2 { d = $1 - last - 0.001; printf "%.0f\n", (d < 0 ? -d : d) * 1e6 } { last = $1 }' "$tmp/csv" |
	sed '$d' | sort -n | awk '{ d[NR] = $1 } END { print NR, d[int((NR + 1) / 2)], d[int(0.99 * NR)] }')
echo "$samples samples, $missed missed in $elapsed s; machine $idle idle; jitter: n, p50, p99 in us: $jitter"

# The baseline and the last sample are no ticks; the last tick may fall between join and reading.
check "samples and missed ticks make up the grid" \
	holds "$samples + $missed - 2 >= $elapsed * 1000 - 2 && $samples + $missed - 2 <= $elapsed * 1000 + 0.1"
check "a row for each sample" [ "$(wc -l < "$tmp/csv")" -eq "$samples" ]
check "rows that follow missed ticks say so" \
	holds "($missed > 0) == ($(grep -c missed "$tmp/csv") > 0)"
# Kept from running between clock and counter, a row is late and the next one knows why.
check "no gap without a flag" \
	holds "$(awk -F, 'NR > 2 && $1 - last > 0.003 { n++ } { last = $1 } END { print n + 0 }' "$tmp/csv") \
		<= 2 * $(grep -c missed "$tmp/csv")"
if holds "$idle < 0.9"; then
	echo "not tested: how many ticks are served; the machine is busy"
	finish
fi
check "99 % of the ticks of an idle machine are served" holds "$missed < 0.01 * $elapsed * 1000"
finish
