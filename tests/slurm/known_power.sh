#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Four nodes that draw 100 W, a step of 5 s: every record says so.
. "${top_srcdir:-.}/tests/slurm/common"

known_watts 100
write_conf
start_cluster --nodes 4

began=$(date +%s%N)
srun -N4 -n8 --energy=perf sleep 5 || fail "srun failed"
took=$(($(date +%s%N) - began))
wait_records 4
check "100 W within 0.5 %" watts_are 100 0.5 < <(records)
same "nodes" "n1 n2 n3 n4" "$(records | field node | sort | xargs)"
same "tasks per node" "2 2 2 2" "$(records | field node_tasks | xargs)"
same "states" "complete complete complete complete" "$(records | field state | xargs)"
same "mechanism" "perf perf perf perf" "$(records | field mechanism | xargs)"
check "nothing to cross-check with, no disagreement" sh -c '! grep -q disagree' < <(records)
same "the nodes are the job's" "$(records | field node_uj | xargs)" "$(records | field job_uj | xargs)"
# The record's time is the step's.
while read -r r; do
	ns=$(($(field end_ns <<<"$r") - $(field start_ns <<<"$r")))
	check "elapsed $ns ns is between 5 s and srun's $took ns" \
		test "$ns" -ge 5000000000 -a "$ns" -le $((took + 500000000))
done < <(records)
sum=$(records | field node_uj | awk '{ s += $1 } END { printf "%.0f", s }')
job=$(records | field job | sort -u)

# From the journals into the store and out again.
acct() { "$ergon" acct --config "$D/ergon.conf" -a "$@"; }
ingest() { "$ergon" ingest --config "$D/ergon.conf" || fail "ingest failed"; }
if "$ergon" ingest --help >/dev/null 2>&1; then
	ingest
	same "acct: joules of the job" $(((sum + 500000) / 1000000)) "$(acct -j "$job" -X -n -P -o ConsumedEnergyRaw)"
	same "acct: joules of the step" $(((sum + 500000) / 1000000)) "$(acct -j "$job.0" -n -P -o ConsumedEnergyRaw)"
	same "acct: who and where" "$job.0|4|8|n[1-4]|perf" "$(acct -j "$job.0" -n -P -o JobID,NNodes,NTasks,NodeList,Mechanism)"
	acct -j "$job"
fi

# As an ordinary user, at another rate, on part of a node.
forget_records
cd / && setpriv --reuid=65534 --regid=65534 --clear-groups \
	srun -N1 -n1 --energy=perf,freq=20 sleep 1 || fail "srun as nobody failed"
wait_records 1
check "100 W within 0.5 %" watts_are 100 0.5 < <(records)
same "user id" 65534 "$(records | field uid)"
same "rate" 20 "$(records | field freq_hz)"
check "at least 20 samples" test "$(records | field samples)" -ge 20
check "journals are root's alone" test "$(stat -c %u%a "$D"/spooled/n1.journal)" = 0600
if [ "$(nproc)" -gt 1 ]; then
	check "flagged shared" grep -q '"flags":\[.*"shared"' < <(records)
	parts=$(($(records | field job_uj) + $(records | field other_uj) + $(records | field unallocated_uj)))
	same "job + other + unallocated" "$(records | field node_uj)" "$parts"
fi

# Read in the kernel: root's slurmstepd loads the program, for an ordinary user's step too.
if ERGON_SYSROOT=$D/sysroot "$ergon" list -m ebpf >/dev/null 2>&1; then
	forget_records
	setpriv --reuid=65534 --regid=65534 --clear-groups \
		srun -N1 -n1 --energy=ebpf,freq=1000 sh -c 'sleep 2; ls -l /proc/self/fd' >"$D/fds" || fail "srun by ebpf failed"
	wait_records 1
	check "100 W within 0.5 %" watts_are 100 0.5 < <(records)
	same "mechanism" ebpf "$(records | field mechanism)"
	check "at least 1000 samples" test "$(records | field samples)" -ge 1000
	check "the task sees none of it" sh -c '! grep -E "bpf|perf" "$1"' sh "$D/fds"
else
	echo "not tested: ebpf: $(ERGON_SYSROOT=$D/sysroot "$ergon" list -m ebpf 2>&1 | grep ebpf:)"
fi

# A second mechanism that tells something else shows in the record, the first is kept.
forget_records
package=$(srun -N1 -n1 cat /sys/devices/system/cpu/cpu0/topology/physical_package_id)
zone=$D/sysroot/sys/class/powercap/intel-rapl:0
mkdir -p "$zone"
echo "package-$package" >"$zone/name"
echo 131000000000 >"$zone/energy_uj"
echo 262143328850 >"$zone/max_energy_range_uj"
srun -N1 -n1 --energy=perf sleep 2 || fail "srun failed beside a stuck counter"
wait_records 1
check "100 W within 0.5 %" watts_are 100 0.5 < <(records)
check "flagged disagree" grep -q '"flags":\[.*"disagree"' < <(records)
check "the record says who disagrees" \
	grep -q "mechanisms disagree: package$package: perf [0-9.]* J, powercap 0 J" < <(records)
finish
