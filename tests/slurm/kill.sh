#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tasks and slurmstepds that are killed, jobs that are cancelled or run out of
# time: they end as they would without us, and what was measured is on record.
. "${top_srcdir:-.}/tests/slurm/common"

known_watts 100
write_conf "Checkpoint = 1"
start_cluster --nodes 4

# start NAME NODE [OPTION...]: a step of one sleeping task in the background.
declare -A pid began
start() {
	local name=$1 node=$2
	shift 2
	rm -f "$D/pid.$name"
	srun -Q -J "$name" -w "$node" -N1 -n1 "$@" \
		sh -c "echo \$\$ >$D/pid.$name; exec sleep 300" >"$D/$name.out" 2>&1 &
	pid[$name]=$!
	began[$name]=$SECONDS
	wait_for 30 test -s "$D/pid.$name" || fail "$name did not start"
}
job_of() { squeue -h -n "$1" -o %A; }
# ended NAME: waits for srun; its exit code and output without ids, and without
# the word of slurmstepd that sometimes comes before srun has gone, sometimes not.
ended() {
	wait "${pid[$1]}"
	echo "exit $?" >>"$D/$1.out"
	rm -f "$D/pid.$1"
	sed -E -i '/slurmstepd-n[1-4]: error: \*\*\* (STEP|JOB) /d; s/(step|job|STEP|JOB) [0-9.]+|StepId=[0-9.]+/\1 N/g; s/AT [0-9T:-]+/AT T/; s/n[1-4]\b/n/g' "$D/$1.out"
	sort -o "$D/$1.out" "$D/$1.out"
}
parent_of() { awk '/^PPid:/ { print $2 }' "/proc/$1/status"; }

# Out of time: a minute is the least Slurm knows. Both run beside the rest.
plugin_off
start time.off n3 --time=1
plugin_on
start time.on n4 --time=1 --energy=perf

for mode in off on; do
	plugin_$mode
	[ $mode = off ] && energy=() || energy=(--energy=perf)

	start "task.$mode" n1 "${energy[@]}"
	sleep 1.5
	kill -KILL "$(cat "$D/pid.task.$mode")"
	ended "task.$mode"

	start "cancel.$mode" n1 "${energy[@]}"
	sleep 1.5
	scancel "$(job_of "cancel.$mode")"
	ended "cancel.$mode"

	start "stepd.$mode" n2 "${energy[@]}"
	sleep 3.5
	task=$(cat "$D/pid.stepd.$mode")
	kill -KILL "$(parent_of "$task")"
	# Nobody is left to end the task or the step.
	sleep 0.5
	kill -KILL "$task"
	scancel "$(job_of "stepd.$mode")"
	ended "stepd.$mode"
done
for what in task cancel stepd; do
	check "$what: ends as without us" diff "$D/$what.off.out" "$D/$what.on.out"
done

wait_records 1 '"job_name":"task.on"'
wait_records 1 '"job_name":"cancel.on"'
for what in task cancel; do
	r=$(records "\"job_name\":\"$what.on\"")
	same "$what: state" complete "$(field state <<<"$r")"
	check "$what: 100 W" watts_are 100 0.5 <<<"$r"
	check "$what: at least 1.5 s" test "$(field node_uj <<<"$r")" -ge 150000000
done
same "task: killed by signal 9" 9 "$(records '"job_name":"task.on"' | field exit_code)"
same "cancel: killed by signal 15" 15 "$(records '"job_name":"cancel.on"' | field exit_code)"

# The killed slurmstepd left a checkpoint; the next step on the machine finishes it.
same "checkpoints, one of a living step" 2 "$(find "$D/spooled" -name '*.ckpt' | wc -l)"
srun -Q -w n1 -N1 -n1 --energy=perf true
wait_records 1 '"job_name":"stepd.on"'
r=$(records '"job_name":"stepd.on"')
same "stepd: state" partial "$(field state <<<"$r")"
same "stepd: node" n2 "$(field node <<<"$r")"
check "stepd: flagged" grep -q '"flags":\[[^]]*"partial"' <<<"$r"
check "stepd: 100 W" watts_are 100 0.5 <<<"$r"
check "stepd: at most 1.5 s lost of 3.5 s" test "$(field node_uj <<<"$r")" -ge 200000000

# A slurmd that restarts in the middle of a step does not matter.
start restart n1 --energy=perf
kill -TERM "$(cat "$D/run/n1.pid")"
sleep 1
setsid slurmd -D -N n1 -f "$D/slurm.conf" >>"$D/log/n1.out" 2>&1 </dev/null 9>&- &
echo $! >"$D/run/n1.pid"
sleep 1
kill -TERM "$(cat "$D/pid.restart")"
ended restart
wait_records 1 '"job_name":"restart"'
check "restart: 100 W" watts_are 100 0.5 < <(records '"job_name":"restart"')

echo "waiting for the time limit"
ended time.off
ended time.on
check "time limit: ends as without us" diff "$D/time.off.out" "$D/time.on.out"
wait_records 1 '"job_name":"time.on"'
r=$(records '"job_name":"time.on"')
check "time limit: 100 W" watts_are 100 0.5 <<<"$r"
same "time limit: state" complete "$(field state <<<"$r")"

check "no slurmstepd is left" wait_for 20 no_stepds
same "checkpoints" 0 "$(find "$D/spooled" -name '*.ckpt' | wc -l)"
same "files in RunDir" topology "$(ls "$D/ergonrun")"
finish
