#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Joules that the measured command itself puts into pm_counters: known to the last one.
. "${top_srcdir:?make check sets it}/tests/stat/lib.sh"
: "${tmp:?}" "${ergon:?}" # set by lib.sh
need_jq

cp -R "$top_srcdir/tests/sysroots/cray-ex-mi250x" "$tmp/root"
chmod -R u+w "$tmp/root"
export ERGON_SYSROOT="$tmp/root"

# What the command runs: set FILE JOULES MICROSECONDS. The stamps go on from the machine's.
cat > "$tmp/scan" <<'END'
cd "$ERGON_SYSROOT/sys/cray/pm_counters" || exit 9
set_energy() { echo "$2 J 173305440$3 us" > "$1"; }
sleep 0.3
END

# run MECH: the lines on stdin are the command.
run() {
	mech=$1
	{ cat "$tmp/scan" -; echo sleep 0.5; } > "$tmp/command"
	check_exit 0 "$mech" "$ergon" stat -m "$mech" -F 50 --json "$tmp/json" -- sh "$tmp/command"
}

# is FILTER WANT
is() {
	got=$(jq -c "$1" "$tmp/json")
	check "$1 is $got, expected $2" [ "$got" = "$2" ]
}

# A busy machine may miss ticks.
flags_are() { is '.flags - ["missed"]' "$1"; }

# 100 + 23 J of the node, of which 40 J of one card.
run cray <<'END'
set_energy energy 81234667 0223456
set_energy accel2_energy 14234602 0223456
sleep 0.3
set_energy energy 81234690 0323456
END
is '[.mechanism, .scope, .total_j]' '["cray","node",123]'
is '.domains.gpu.instances | map(.j)' '[0,0,40,0]'
is '[.domains.cpu.j, .domains.dram.j]' '[0,0]'
flags_are '[]'

# The controller starts anew: what it shows then is not what was drawn, lower or higher.
for start in 12 99999999; do
	run cray <<-END
	set_energy energy $start 0423456
	echo $start > startup
	sleep 0.5
	set_energy energy $((start + 7)) 0523456
	END
	flags_are '["reset"]'
	is '.total_j' 7
done

# Beside RAPL the node's counter is the total, and holds it.
run auto <<'END'
set_energy energy 100000050 0623456
echo 41005000000 > ../../class/powercap/intel-rapl:0/energy_uj
END
is '.mechanism' '"powercap+cray"'
is '[.scope, .total_j, .domains.node.j, .domains.package.j]' '["node",44,44,5]'

# A BMC that never answers (no device behind the file): no joule is invented, the command runs.
mkdir "$tmp/root/dev"
: > "$tmp/root/dev/ipmi0"
check_exit 5 "a BMC without a word" "$ergon" stat -m dcmi --json "$tmp/json" -- sh -c 'exit 5'
is '[.mechanism, .scope, .total_j, .domains]' '["dcmi",null,null,{}]'
flags_are '["gap"]'
ERGON_DEBUG=backend check_exit 0 "told why" "$ergon" stat -m dcmi -- true
check "the reason is told" grep -q 'dcmi: no reading: Inappropriate ioctl' "$tmp/err"

finish
