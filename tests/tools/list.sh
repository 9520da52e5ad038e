#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `ergon list` on every machine of tests/sysroots, as root and not, and its usage.
set -u
: "${top_srcdir:=.}" "${top_builddir:=.}"
ergon=$top_builddir/ergon
machines=$top_srcdir/tests/sysroots
tmp=$(mktemp -d "${TMPDIR:-/tmp}/ergon-list-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
export LC_ALL=C ERGON_CONF=/dev/null
failed=0

fail() {
	echo "FAIL: $*"
	failed=1
}

# expect_rc RC COMMAND...: its output is in $tmp/out and $tmp/err
expect_rc() {
	want=$1
	shift
	"$@" > "$tmp/out" 2> "$tmp/err"
	rc=$?
	[ "$rc" -eq "$want" ] || fail "exit $rc, expected $want: $*"
}

# GPU libraries that tell what a machine's file `gpus` says; see tests/stub/story.h.
export LD_LIBRARY_PATH="$top_builddir/tests/stub/.libs" ERGON_TEST_GPUS="$tmp/gpus"

# --- every machine answers what a person has checked ---
command -v jq > /dev/null || { echo "needs jq"; exit 77; }
count=0
for machine in "$machines"/*/; do
	machine=${machine%/}
	want=0
	grep -q '"mechanism": null' "$machine/expect.json" && want=1
	export ERGON_SYSROOT="$machine"
	cat "$machine/gpus" > "$tmp/gpus" 2> /dev/null
	expect_rc "$want" "$ergon" list --json
	# A machine's file tells of the mechanisms that matter there, and of sensors if it has some.
	jq --slurpfile want "$machine/expect.json" '.mechanisms |= map(select(.name as $n |
		$want[0].mechanisms | any(.name == $n))) |
		if $want[0] | has("sensors") then . else del(.sensors) end' "$tmp/out" > "$tmp/told"
	jq . "$machine/expect.json" | diff -u - "$tmp/told" || fail "$machine: --json"
	if [ "$want" -eq 1 ]; then
		[ "$(wc -l < "$tmp/err")" -eq 1 ] || fail "$machine: not one line on stderr"
	else
		[ -s "$tmp/err" ] && fail "$machine: output on stderr"
	fi
	expect_rc "$want" "$ergon" list
	grep -q '^powercap ' "$tmp/out" || fail "$machine: no table"
	count=$((count + 1))
done
[ "$count" -ge 10 ] || fail "only $count machines found in $machines"

# --- the model is there when asked for, and says that it estimates ---
export ERGON_SYSROOT="$machines/vm-nothing"
expect_rc 0 "$ergon" list -m model --json
grep -q '"scope": "estimate"' "$tmp/out" || fail "the model's scope"
expect_rc 1 "$ergon" list
grep -q 'AllowModel = yes' "$tmp/err" || fail "not told how to permit the model"
printf 'AllowModel = yes\nModelIdleWatts = 50\nModelMaxWatts = 75\n' > "$tmp/ergon.conf"
expect_rc 0 "$ergon" list --config "$tmp/ergon.conf"
grep -q '50 W idle, 75 W busy' "$tmp/out" || fail "the model ignores the configuration"

# --- of several mistakes the first, with its line ---
printf '# site\nFreq = 0\nAllowModel = maybe\n' > "$tmp/ergon.conf"
expect_rc 1 "$ergon" list --config "$tmp/ergon.conf"
grep -q "ergon.conf:2: Freq = '0'" "$tmp/err" || fail "not the line of the mistake"

printf 'Freq = auto:1e2\n' > "$tmp/ergon.conf"
expect_rc 1 "$ergon" list --config "$tmp/ergon.conf"
grep -q "ergon.conf:1: Freq = 'auto:1e2': expected a rate from 0.1 to 1000 Hz, auto or auto:HZ" "$tmp/err" ||
	fail "not told what a rate looks like"

# --- wrong usage ---
expect_rc 2 "$ergon" list --nonsense
expect_rc 2 "$ergon" list surplus
expect_rc 2 "$ergon" list -m perf,nonsense
grep -q "nonsense" "$tmp/err" || fail "the unknown mechanism is not named"
expect_rc 0 "$ergon" list --help
grep -q 'powercap' "$tmp/out" || fail "--help names no mechanism"
expect_rc 1 env ERGON_SYSROOT="$tmp/none" "$ergon" list
grep -q "$tmp/none" "$tmp/err" || fail "the missing sysroot is not named"
expect_rc 1 "$ergon" list --config "$tmp/none"
mkdir "$tmp/broken"
echo '<topology' > "$tmp/broken/topo.xml"
expect_rc 1 env ERGON_SYSROOT="$tmp/broken" "$ergon" list
grep -q 'broken/topo.xml' "$tmp/err" || fail "the broken topology is not named"

# --- two mechanisms are compared; one is not, and that is said ---
export ERGON_SYSROOT="$machines/laptop"
expect_rc 0 "$ergon" list --cross-check
grep -q 'no second mechanism' "$tmp/out" || fail "no second mechanism: not said"
export ERGON_SYSROOT="$tmp/standin"
if "$top_srcdir/tests/standin/make-sysroot" "$tmp/standin" 100 --packages 1 2> "$tmp/err"; then
	zone=$tmp/standin/sys/class/powercap/intel-rapl:0
	mkdir -p "$zone"
	echo package-0 > "$zone/name"
	echo 131000000000 > "$zone/energy_uj"
	echo 262143328850 > "$zone/max_energy_range_uj"
	expect_rc 3 "$ergon" list --cross-check
	grep -q 'package0 .* 0.000 W .* DISAGREE' "$tmp/out" || fail "a stuck counter agrees"
	expect_rc 3 "$ergon" list --cross-check --json
	[ "$(jq -c '.cross_check | map(select(.other == "powercap") | [.channel, .other, .other_w == 0, .agree])' "$tmp/out")" = \
		'[["package0","powercap",true,false]]' ] || fail "cross_check in JSON: $(cat "$tmp/out")"
	jq -e '.cross_check | map(select(.other == "ebpf")) | all(.agree)' "$tmp/out" > /dev/null ||
		fail "ebpf disagrees with perf: $(cat "$tmp/out")"
	[ "$(jq '.cross_check[0].w | . > 99 and . < 101' "$tmp/out")" = true ] || fail "not 100 W"
else
	echo "not tested: cross-check against perf: $(cat "$tmp/err")"
fi

# --- energy_uj that only root may read: a permission, not 0 J, not absence ---
cp -R "$machines/laptop" "$tmp/locked"
chmod -R u+w "$tmp/locked"
chmod 0400 "$tmp"/locked/sys/class/powercap/*/energy_uj
chmod 0755 "$tmp"
cp "$ergon" "$tmp/ergon"
if [ "$(id -u)" -ne 0 ]; then
	chmod 0000 "$tmp"/locked/sys/class/powercap/*/energy_uj
	as_user="env"
elif command -v setpriv > /dev/null; then
	as_user="setpriv --reuid=65534 --regid=65534 --clear-groups env"
else
	echo "not tested: permissions (root without setpriv)"
	exit $failed
fi

# state_of MECHANISM: from the JSON in $tmp/out
state_of() {
	sed -n "/\"name\": \"$1\"/{n;s/.*: \"\(.*\)\".*/\1/p;}" "$tmp/out"
}

# shellcheck disable=SC2086 # words, not one name
expect_rc 1 $as_user ERGON_SYSROOT="$tmp/locked" "$tmp/ergon" list --json
[ "$(state_of powercap)" = permission ] || fail "locked counters: $(state_of powercap)"
[ "$(state_of perf)" = absent ] || fail "no PMU: $(state_of perf)"
grep -q 'energy_uj of 4 of 4 RAPL zones may not be read' "$tmp/err" || fail "$(cat "$tmp/err")"

# --- the same for perf, the msr PMU standing in ---
pmu=$tmp/locked/sys/bus/event_source/devices/power
type=/sys/bus/event_source/devices/msr/type
if [ -r $type ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ]; then
	mkdir -p "$pmu/events"
	cat $type > "$pmu/type"
	echo event=0x00 > "$pmu/events/energy-pkg"
	echo Joules > "$pmu/events/energy-pkg.unit"
	echo 2.3283064365386962890625e-10 > "$pmu/events/energy-pkg.scale"
	ln -s /proc/sys "$tmp/locked/proc/sys"
	# shellcheck disable=SC2086
	expect_rc 1 $as_user ERGON_SYSROOT="$tmp/locked" "$tmp/ergon" list --json
	[ "$(state_of perf)" = permission ] || fail "perf without rights: $(state_of perf)"
	grep -q "perf_event_paranoid is $(cat /proc/sys/kernel/perf_event_paranoid)" "$tmp/err" ||
		fail "the setting is not named: $(cat "$tmp/err")"
else
	echo "not tested: perf without rights (no msr PMU, or perf_event_paranoid allows all)"
fi

exit $failed
