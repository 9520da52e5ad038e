#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ergon stat -m ebpf at 1000 Hz: known power, the same as by perf at the same time, every
# tick of the kernel's clock accounted for; where it was left out, a line that says why.
. "${top_srcdir:?make check sets it}/tests/stat/lib.sh"
: "${tmp:?}" "${ergon:?}" # set by lib.sh
need_jq

# Of a backend in `ergon list --json`: state, reason.
told() { jq -r --arg name "$1" '.mechanisms[] | select(.name == $name) | .state + ": " + .reason' "$tmp/list"; }

# word N of the debug line "ebpf: 5971 ticks, 5971 records, 0 lost, 10 direct readings"
counted() { sed -n 's/^ergon: ebpf: \([0-9]* ticks.*\)/\1/p' "$tmp/err" | awk -v n="$1" '{ print $(2 * n - 1) }'; }

packages=1
[ "$(getconf _NPROCESSORS_ONLN)" -lt 2 ] || packages=2
standin "$tmp/root" 100 --packages $packages --dram 7
export ERGON_SYSROOT="$tmp/root"
"$ergon" list --json > "$tmp/list"
echo "ebpf is $(told ebpf)"
case $(told ebpf) in
ok:*) ;;
"unsupported: built without eBPF ("*)
	check_exit 1 "asked for all the same" "$ergon" stat -m ebpf -- true
	check "one line says why" [ "$(grep -c 'built without eBPF' "$tmp/err")" -eq 1 ]
	[ $failures -eq 0 ] || finish
	exit 77 ;;
*) exit 77 ;;
esac

# Some hypervisors hide an idle CPU's ticks from perf: keep the leaders from being idle, behind all others.
for cpu in $(tr , ' ' < "$tmp/root/sys/bus/event_source/devices/power/cpumask"); do
	taskset -c "$cpu" nice -n 19 sh -c 'while kill -0 $PPID 2> /dev/null; do
		i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; done' &
	burners="${burners-} $!"
done
trap 'kill $burners 2> /dev/null; rm -rf "$tmp"' EXIT
check "auto takes perf" [ "$(jq -r .mechanism "$tmp/list")" = perf ]

# perf measures the time that ebpf measures, and a little more.
ERGON_DEBUG=backend check_exit 0 "five seconds by ebpf within perf" \
	"$ergon" stat -m perf -F 100 --json "$tmp/perf" -- \
	"$ergon" stat -m ebpf -F 1000 -o "$tmp/samples.csv" --json "$tmp/ebpf" -- sleep 5
cat "$tmp/err"
elapsed=$(jq .elapsed_s "$tmp/ebpf")
j=$(jq .total_j "$tmp/ebpf")
watts=$((packages * 107))
# A count is at most 1.5 ms old; when a reading was interrupted its time is only known to its duration.
slack=$(jq '0.0015 + 2 * .self.read_ns.max * 1e-9' "$tmp/ebpf")
check "$j J are $watts W times $elapsed s within 0.1 %" \
	holds "($j - $watts * $elapsed) ^ 2 < ($watts * ($elapsed * 0.0006 + $slack)) ^ 2"
check "mechanism, scope" [ "$(jq -r '.mechanism + " " + .scope' "$tmp/ebpf")" = "ebpf cpu+dram" ]
pw=$(jq .domains.package.w "$tmp/perf")
ew=$(jq .domains.package.w "$tmp/ebpf")
check "$ew W by ebpf are $pw W by perf" holds "($ew / $pw - 1) ^ 2 < (0.001 + $slack / $elapsed) ^ 2"
check "each package draws its own" [ "$(jq '.domains.package.instances | length' "$tmp/ebpf")" -eq $packages ]
for i in $(seq 0 $((packages - 1))); do
	check "package $i: 100 W" holds \
		"($(jq ".domains.package.instances[$i].j" "$tmp/ebpf") / $elapsed / 100 - 1) ^ 2 < (0.001 + $slack / $elapsed) ^ 2"
done
check "samples and missed ticks make up 1000 Hz" \
	holds "$(jq '.samples + .missed' "$tmp/ebpf") >= $elapsed * 1000 && $(jq '.samples + .missed' "$tmp/ebpf") <= $elapsed * 1000 + 2.1"
check "no gap, no reset" [ "$(jq -c '.flags - ["missed"]' "$tmp/ebpf")" = "[]" ]
ticks=$(counted 1) records=$(counted 2) lost=$(counted 3)
check "the kernel's clock ticked $ticks times, not more than 1000 Hz" \
	holds "$ticks > $packages * $elapsed * 500 && $ticks < $packages * ($elapsed + 1) * 1000"
check "$records records, $lost lost: all ticks" holds "$ticks - $records - $lost >= 0 && $ticks - $records - $lost < 100"

# Nothing read for 2.6 s is too slow for the buffer, which lasts 2 s at 900 Hz: records are lost, energy is not.
ERGON_DEBUG=backend check_exit 0 "a slow reader" \
	"$ergon" stat -m ebpf -F 900 --json "$tmp/json" -- sh -c '
		sampler=$(ps -o ppid= -p $$) && kill -STOP $sampler && sleep 2.6 && kill -CONT $sampler'
cat "$tmp/err"
elapsed=$(jq .elapsed_s "$tmp/json")
slack=$(jq '0.0015 + 2 * .self.read_ns.max * 1e-9' "$tmp/json")
check "$(counted 3) records were lost" holds "$(counted 3) > 0"
check "$(jq .total_j "$tmp/json") J are $watts W times $elapsed s" \
	holds "($(jq .total_j "$tmp/json") - $watts * $elapsed) ^ 2 < ($watts * ($elapsed * 0.0006 + $slack)) ^ 2"
finish
