#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# 100 W per package through the kernel's perf path: joules, sums, selection.
. "${top_srcdir:?make check sets it}/tests/stat/lib.sh"
: "${tmp:?}" "${ergon:?}" # set by lib.sh
need_jq

# The rows of a column of samples.csv added up in microjoules. The cells must have six decimals.
column_uj() {
	awk -F, -v name="$1" '
	NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next }
	$c !~ /^[0-9]+\.[0-9][0-9][0-9][0-9][0-9][0-9]$/ { bad = 1 }
	{ sub(/\./, "", $c); sum += $c }
	END { if (!c || bad) exit 1; printf "%.0f\n", sum }' "$2"
}

# Joules of a line of the table, in microjoules.
table_uj() {
	awk -v name="$1" '$2 == "J" && $5 == name { sub(/\./, "", $1); printf "%.0f\n", $1 }' "$2"
}

# near JOULES WATTS SECONDS PART: JOULES are WATTS x SECONDS but for PART of it. When a reading
# was interrupted its time is only known to its duration; the longest one is granted twice.
near() {
	slack=$(jq '2 * .self.read_ns.max * 1e-9' "$tmp/json")
	holds "($1 - $2 * $3) ^ 2 < ($2 * $3 * $4 + $2 * $slack) ^ 2"
}

same() { [ -n "$1" ] && [ "$1" = "$2" ]; }

sorted_header() { head -1 "$1" | tr , '\n' | sort | tr '\n' ' '; }

standin "$tmp/root" 100
export ERGON_SYSROOT="$tmp/root"
packages=$(awk -F, '{ print NF }' "$tmp/root/sys/bus/event_source/devices/power/cpumask")
before=$(date +%s.%N)
check_exit 0 "ten seconds" "$ergon" stat -m perf -F 100 -o "$tmp/samples.csv" --json "$tmp/json" -- sleep 10
after=$(date +%s.%N)
cat "$tmp/err"
j=$(jq .total_j "$tmp/json")
elapsed=$(jq .elapsed_s "$tmp/json")
watts=$(jq .domains.package.w "$tmp/json")
check "$j J are 100 W times $elapsed s within 0.1 %" \
	near "$j" $((packages * 100)) "$elapsed" 0.001
check "no less than the command took" holds "$j >= $packages * 1000 * 0.999"
check "no more than the clock on the wall says" holds "$j <= $packages * 100 * ($after - $before) * 1.001"
check "$watts W are joules by seconds" holds "($watts - $j / $elapsed) ^ 2 < 0.00001 ^ 2"
check "scope, mechanism" [ "$(jq -r '.scope + " " + .mechanism' "$tmp/json")" = "cpu perf" ]
check "samples and missed ticks make up the grid" \
	holds "$(jq '.samples + .missed' "$tmp/json") >= $elapsed * 100 && $(jq '.samples + .missed' "$tmp/json") <= $elapsed * 100 + 2.1"
check "rows of package0 add up to the table" \
	same "$(column_uj package0_j "$tmp/samples.csv")" \
	"$(jq '.domains.package.instances[0].j * 1e6 | round' "$tmp/json")"
check "one row per sample after the first" \
	[ "$(wc -l < "$tmp/samples.csv")" -eq "$(jq .samples "$tmp/json")" ]

# More than one package, domains inside and outside the total.
if [ "$(getconf _NPROCESSORS_ONLN)" -lt 2 ]; then
	echo "not tested with one CPU: two packages"
	finish
fi
standin "$tmp/two" 100 --packages 2 --dram 7 --core 40
export ERGON_SYSROOT="$tmp/two"
check_exit 0 "two packages" "$ergon" stat -m perf -F 50 -o "$tmp/two.csv" --json "$tmp/json" -- sleep 1
cat "$tmp/err"
check "names of the columns" same "$(sorted_header "$tmp/two.csv")" \
	"core0_j core1_j dram0_j dram1_j flags package0_j package1_j t_s "
elapsed=$(jq .elapsed_s "$tmp/json")
check "214 W: two packages and their dram, cores inside" \
	near "$(jq .total_j "$tmp/json")" 214 "$elapsed" 0.001
for domain in package core dram; do
	check "rows of $domain add up to the table" same \
		"$(($(column_uj ${domain}0_j "$tmp/two.csv") + $(column_uj ${domain}1_j "$tmp/two.csv")))" \
		"$(table_uj $domain "$tmp/err")"
done
check "total = package + dram to the last digit" same \
	"$(($(table_uj package "$tmp/err") + $(table_uj dram "$tmp/err")))" "$(table_uj total, "$tmp/err")"
check "JSON says the same" same "$(jq '.total_j * 1e6 | round' "$tmp/json")" "$(table_uj total, "$tmp/err")"
check "instances by package id" [ "$(jq -c '[.domains.dram.instances[].id]' "$tmp/json")" = "[0,1]" ]

check_exit 0 "a selection" "$ergon" stat -m perf -d ram,pp0 -o "$tmp/some.csv" --json "$tmp/json" -- sleep 0.3
check "columns of the selection" same "$(sorted_header "$tmp/some.csv")" \
	"core0_j core1_j dram0_j dram1_j flags t_s "
check "the scope names what is in the total" [ "$(jq -r .scope "$tmp/json")" = dram ]
check "the total is that of dram" \
	[ "$(jq .total_j "$tmp/json")" = "$(jq .domains.dram.j "$tmp/json")" ]
check_exit 0 "only what is in no total" "$ergon" stat -m perf -d core --json "$tmp/json" -- true
check "no total then" [ "$(jq -c '[.scope, .total_j]' "$tmp/json")" = "[null,null]" ]
finish
