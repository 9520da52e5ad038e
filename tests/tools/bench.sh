#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `ergon bench`: usage, both outputs, and what must be so on any machine whatever its speed.
. "${top_srcdir:?make check sets it}/tests/stat/lib.sh"
: "${tmp:?}" "${ergon:?}" # set by lib.sh
need_jq
export TMPDIR="$tmp/files"
mkdir "$TMPDIR"

says() { grep -q -e "$1" "$tmp/err"; }
tells() { grep -q -e "$1" "$tmp/out"; }
json() { jq -e "$1" "$tmp/json" > "$tmp/jq" 2>&1 || { cat "$tmp/jq"; false; }; }

# --- wrong usage: 2, one line ---
for bad in "-F 0" "-F 1001" "-F auto" "-F fast" "-t 0" "-t -1" "-t nan" "-t 4000" "-t 3s" "-m rapl" "-m perf+powercap" \
	"-m auto,perf" "-m ," "surplus" "-F 1 -t 1"; do
	# shellcheck disable=SC2086
	check_exit 2 "usage: '$bad'" "$ergon" bench $bad
	check "one line" [ "$(wc -l < "$tmp/err")" -eq 1 ]
done
check_exit 2 "no such option" "$ergon" bench --nonsense
check "told by ergon" says "^ergon bench: "
check_exit 0 "help" "$ergon" bench --help
check "help is on stdout" tells "--compare"
check_exit 1 "a configuration that is not there" "$ergon" bench --config "$tmp/none"

# --- a machine with nothing to measure ---
export ERGON_SYSROOT="$top_srcdir/tests/sysroots/vm-nothing"
check_exit 1 "nothing to measure" "$ergon" bench -t 0.1
check "every mechanism has its reason" tells "^powercap not measured: absent: "
check "told where to ask" says "ergon list"
check_exit 1 "nothing to measure, in JSON" "$ergon" bench -m powercap -t 0.1 --json
cp "$tmp/out" "$tmp/json"
check "the reason is in it" json '.mechanisms[0] | .state == "absent" and .reason != "" and .rate == null'

# --- files: two packages, dram and psys ---
export ERGON_SYSROOT="$top_srcdir/tests/sysroots/sapphire-rapids"
channels=$("$ergon" list -m powercap --json | jq '.channels | length')
tries=0
until check_exit 0 "four ways to sample" "$ergon" bench -m powercap -t 1 --compare --json &&
	cp "$tmp/out" "$tmp/json" &&
	[ "$(jq '.mechanisms[0].rate | .[0].hz >= .[2].hz and .[1].hz >= .[3].hz' "$tmp/json")" = true ]; do
	# A burst of other work may strike one of them alone.
	tries=$((tries + 1))
	[ $tries -lt 3 ] || break
done
check "a grid holds more samples than sleeping a period after each" [ $tries -lt 3 ]
jq -c '.mechanisms[0].rate[] | [.variant, .hz, .missed]' "$tmp/json"
check "what it says of itself" json '.v == 1 and .cpus >= 1 and .hz == 1000 and .seconds == 1
	and (.kernel | startswith("Linux ")) and (.mechanisms | length) == 1'
check "all channels" json ".mechanisms[0] | .name == \"powercap\" and .state == \"ok\" and .channels == $channels"
check "spreads are ordered" json '[.. | objects | select(has("p99"))] |
	length >= 7 and all(.n > 0 and .median <= .p99 and .p99 <= .max)'
check "a file cannot be read faster than the clock" json '.mechanisms[0].read |
	.all_ns.median > .clock_ns.median and .per_s < 1e9 / .clock_ns.median and .cpu_ns > 0'
check "files are not read in groups" json '.mechanisms[0].read | has("single_ns") and .single_ns == null'
check "the ways by name" json '[.mechanisms[0].rate[] | [.timer, .writer_thread]] ==
	[["grid", true], ["grid", false], ["sleep", true], ["sleep", false]]'
check "a rate is samples by seconds" json '.mechanisms[0].rate | all(
	(.hz - (.samples - 1) / .seconds | fabs) < 0.01 * .hz and .seconds > 0.3 and .seconds < 30)'
check "what is missing is counted" json '.mechanisms[0].rate | all(
	(.samples - 1 + .missed) as $all | .seconds * 1000 - $all < 1.5)'
check "sleeping after the work never reaches the rate" json '.mechanisms[0].rate[2:] | all(.hz < 1000)'
check "no temporary file stays" [ -z "$(ls "$TMPDIR")" ]

# --- the kernel's perf path ---
TMPDIR=/tmp "$top_srcdir/tests/standin/make-sysroot" "$tmp/root" 100 --dram 10 --core 50 || {
	[ $? -eq 77 ] || failures=$((failures + 1))
	echo "not tested: perf"
	finish
}
export ERGON_SYSROOT="$tmp/root"
check_exit 0 "perf" "$ergon" bench -m auto -F 100 -t 0.5
cat "$tmp/out"
check "its channels" tells "^perf, 3 channels"
for row in "all channels at once" "one channel" "each channel alone" "all, through the meter" "the clock itself" "ergon"; do
	check "row: $row" tells "^  $row "
done
check "others and why not" tells "^powercap not measured: "
# median_of ROW: in the table of the first mechanism, perf.
median_of() { awk -v row="  $1 " 'index($0, row) == 1 { print substr($0, 25) + 0; exit }' "$tmp/out"; }
check "one call for three is cheaper than three calls" \
	holds "$(median_of "all channels at once") < 0.8 * $(median_of "each channel alone")"
check "and dearer than nothing" holds "$(median_of "all channels at once") > $(median_of "the clock itself")"
finish
