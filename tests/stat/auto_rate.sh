#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `ergon stat -F auto`: 200 Hz while something runs, 1 Hz on a machine that is idle for all /proc/stat says.
. "${top_srcdir:?make check sets it}/tests/stat/lib.sh"
: "${tmp:?}" "${ergon:?}" # set by lib.sh
need_jq

standin "$tmp/root" 100
export ERGON_SYSROOT="$tmp/root"
packages=$(awk -F, '{ print NF }' "$tmp/root/sys/bus/event_source/devices/power/cpumask")

# Ticks that were planned: samples without the first and the last, and the missed ones.
planned() { jq '.samples + .missed - 2' "$tmp/json"; }

check_exit 124 "a busy command" "$ergon" stat -m perf -F auto:200 --json "$tmp/json" -- \
	timeout 3 sh -c 'while :; do :; done'
cat "$tmp/err"
check "the whole of it at 200 Hz" \
	holds "$(planned) > 0.98 * 200 * $(jq .elapsed_s "$tmp/json") - 2"
check "the table says that it may have been less" grep -q 'samples at up to 200 Hz' "$tmp/err"

# The same machine without its CPU times: this file does not move.
rm "$tmp/root/proc"
mkdir "$tmp/root/proc"
for entry in /proc/[a-z]*; do
	ln -s "$entry" "$tmp/root/proc/"
done
rm "$tmp/root/proc/stat"
cp /proc/stat "$tmp/root/proc/stat"
check_exit 0 "an idle machine" "$ergon" stat -m perf -F auto:200 -o "$tmp/csv" --json "$tmp/json" -- sleep 5
cat "$tmp/err"
check "2 to 2.5 s at 200 Hz, the rest at 1 Hz" \
	holds "$(planned) > 2 * 200 && $(planned) < 2.75 * 200"
check "the last rows are a second long" holds \
	"$(tail -n 3 "$tmp/csv" | awk -F, '{ t[NR] = $1 } END { print t[2] - t[1] }') > 0.9"
# Samples are few; joules are all there.
check "100 W all the time" holds "($(jq .total_j "$tmp/json") / (100 * $packages * $(jq .elapsed_s "$tmp/json")) - 1) ^ 2 < 0.005 ^ 2"
finish
