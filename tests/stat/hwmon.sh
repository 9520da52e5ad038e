#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `ergon stat` by hwmon: known watts, what the total is made of, power that
# moves during the run, a driver that is loaded again.
. "${top_srcdir:?make check sets it}/tests/stat/lib.sh"
: "${tmp:?}" "${ergon:?}" # set by lib.sh
need_jq

# machine NAME: a copy that may be changed
machine() {
	rm -rf "$tmp/root"
	cp -R "$top_srcdir/tests/sysroots/$1" "$tmp/root"
	chmod -R u+w "$tmp/root"
	export ERGON_SYSROOT="$tmp/root" hwmon="$tmp/root/sys/class/hwmon"
}

told() { jq "$1" "$tmp/json"; }
same() { [ "$1" = "$2" ]; }

# watts MEMBER WATTS: within 2 %
watts() {
	j=$(told "$1") s=$(told .elapsed_s)
	holds "$j / $s > $2 * 0.98 && $j / $s < $2 * 1.02" || {
		echo "$1: $j J in $s s, not $2 W"
		return 1
	}
}

stat() {
	check_exit 0 "$1" "$ergon" stat -m "$2" -F 20 --json "$tmp/json" -- sleep 1
}

machine altra-2-socket
stat "Altra" hwmon
check "all sockets, CPU and IO" watts .total_j 167.25
check "one socket's" watts '.domains.io.instances[1].j' 21.5
check "scope" same "$(told .scope)" '"cpu+io"'

machine grace-hopper
stat "Grace-Hopper" auto
check "the module holds the rest" watts .total_j 521
check "which is told apart" watts .domains.soc.j 182

machine power-meter-server
stat "a server with a meter" auto
check "the meter is told" watts .domains.node.j 412
check "but the counters are the total" same "$(told '.scope == "cpu+dram" and .total_j == 0')" true

# A square wave; each level is held from its time in the log to the next one's.
machine grace-hopper
export log="$tmp/log"
# shellcheck disable=SC2016 # expanded by the inner shell
check_exit 0 "power that moves" "$ergon" stat -m hwmon -F 20 --json "$tmp/json" -- sh -c '
	for w in 300 100 300 100 300 100 -; do
		[ $w = - ] || echo ${w}000000 > "$hwmon/hwmon0/device/power1_average"
		echo "$(date +%s.%N) $w" >> "$log"
		[ $w = - ] || sleep 0.5
	done'
# Before the first line of the log it was 521 W.
expected=$(awk -v elapsed="$(told .elapsed_s)" '
	NR == 1 { first = $1 }
	NR > 1 { j += watts * ($1 - t) }
	{ t = $1; watts = $2 }
	END { print j + 521 * (elapsed - (t - first)) }' "$log")
echo "$expected J, told $(told .domains.module.j) J"
check "energy of power that moves" holds "$(told .domains.module.j) > $expected * 0.92 &&
	$(told .domains.module.j) < $expected * 1.08"

# Zero is no value.
machine grace-hopper
echo 0 > "$hwmon/hwmon0/device/power1_average"
check_exit 0 "a dead sensor" "$ergon" stat -m hwmon -F 20 --json "$tmp/json" -- sleep 0.3
check "the next best is the total" same "$(told .scope)" '"soc"'

finish
