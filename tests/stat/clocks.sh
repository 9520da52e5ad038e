#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Clocks that are set, and a machine that sleeps, in the middle of `ergon stat`.
. "${top_srcdir:?make check sets it}/tests/stat/lib.sh"
: "${tmp:?}" "${ergon:?}" "${top_builddir:?}" # set by lib.sh and make check
need_jq
[ -z "${ERGON_SANITIZERS:-}" ] || { echo "skipped: a preload and a sanitizer do not go together"; exit 77; }
shim=$top_builddir/tests/standin/.libs/clockshift.so
export ERGON_TEST_CLOCKS="$tmp/clocks"

echo "86400 0" > "$tmp/clocks"
there=$(LD_PRELOAD=$shim date +%s)
check "the preload sets the clock" [ $((there - $(date +%s))) -gt 86000 ]

standin "$tmp/root" 100
export ERGON_SYSROOT="$tmp/root"
packages=$(awk -F, '{ print NF }' "$tmp/root/sys/bus/event_source/devices/power/cpumask")

# run NAME CLOCKS: two seconds, the clocks step after one.
run() {
	echo "0 0" > "$tmp/clocks"
	# shellcheck disable=SC2016
	check_exit 0 "$1" env LD_PRELOAD="$shim" "$ergon" stat -m perf -F 100 -o "$tmp/samples.csv" \
		--json "$tmp/json" -- sh -c 'sleep 1; echo "$1" > "$0"; sleep 1' "$tmp/clocks" "$2"
	jq -c '[.elapsed_s, .total_j, .samples, .missed, .flags]' "$tmp/json"
	elapsed=$(jq .elapsed_s "$tmp/json")
	joules=$(jq .total_j "$tmp/json")
	watts=$((100 * packages))
	check "$1: two seconds, not hours" holds "$elapsed >= 2 && $elapsed < 30"
	check "$1: no tick is made up" holds \
		"$(jq '.samples + .missed' "$tmp/json") <= $elapsed * 100 + 3"
	check "$1: time never runs back, and no sample is long" awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "t_s") c = i; if (!c) exit 1; next }
		NR > 2 && ($c <= last || $c - last > 20) { exit 1 }
		{ last = $c }' "$tmp/samples.csv"
}

flagged() { jq -e --arg f "$1" '.flags | index($f)' "$tmp/json" > "$tmp/out"; }
not_flagged() { ! flagged "$1"; }

# A reading that was interrupted is dated to its duration only.
slack=0.02
for clocks in "-3600 0" "86400 0"; do
	run "set by $clocks" "$clocks"
	check "set by $clocks: every joule" holds "($joules / ($watts * $elapsed) - 1) ^ 2 < $slack ^ 2"
	check "set by $clocks: no gap" not_flagged gap
done

# The interval in which the machine slept has no energy; the others have theirs.
run "an hour of sleep" "0 3600"
longest=$(awk -F, 'NR > 2 && $1 - last > max { max = $1 - last } { last = $1 } END { print max }' "$tmp/samples.csv")
check "an hour of sleep: a gap" flagged gap
check "an hour of sleep: no energy of it" holds "$joules <= $watts * $elapsed * (1 + $slack)"
check "an hour of sleep: one interval without" holds \
	"$joules >= $watts * ($elapsed - $longest) * (1 - $slack)"
for flag in reset glitch wrapped?; do
	check "an hour of sleep: not $flag" not_flagged "$flag"
done
finish
