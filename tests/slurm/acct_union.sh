#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A job is what its nodes used, not the sum of its steps: with an extern step,
# without one, and requeued. Known watts: energy tells time.
. "${top_srcdir:-.}/tests/slurm/common"
"$ergon" ingest --help >/dev/null 2>&1 || skip "built without SQLite"

known_watts 100
write_conf "Default = auto"
start_cluster --nodes 2 --contain
acct() { "$ergon" acct --config "$D/ergon.conf" -n -P "$@"; }

# script LINE...: a batch script
script() {
	printf '%s\n' '#!/bin/bash' "$@" >"$D/script"
	chmod 755 "$D/script"
}
submit() { (cd / && sbatch --parsable -o "$D/out" "$@" "$D/script"); }
gone() {
	local left
	left=$(squeue -h -o %i 2>/dev/null) && ! grep -qx "$1" <<<"$left"
}
ingest() { "$ergon" ingest --quiet --config "$D/ergon.conf" || fail "ingest failed"; }

# near WHAT EXPECTED GOT [J]: within 2 % and 5 J
near() {
	check "$1: $3 J, expected $2" awk -v e="$2" -v g="$3" -v j="${4:-5}" 'BEGIN {
		d = g - e; d = d < 0 ? -d : d; exit !(g != "" && d <= j + 0.02 * e) }'
}

# --- an extern step on each node, a batch step, two steps side by side
script 'srun -Q --overlap sleep 3 & srun -Q --overlap -N1 -n1 sleep 2; wait'
job=$(submit -N2 -n2 --exclusive)
check "job $job ends" wait_for 60 gone "$job"
wait_records 6
ingest
same "rows" "$job $job.batch $job.extern $job.0 $job.1" "$(acct -j "$job" -o jobid | xargs)"
same "the job is its extern step" "$(acct -j "$job.extern" -o consumedenergyraw)" \
	"$(acct -X -j "$job" -o consumedenergyraw)"
seconds=$(records '"step":-4' | awk -F'[,:]' '{ for (i = 1; i < NF; i++) {
	if ($i == "\"start_ns\"") a = $(i + 1); if ($i == "\"end_ns\"") b = $(i + 1) } s += (b - a) / 1e9 }
	END { printf "%.3f", s }')
near "100 W on both nodes" "$(awk -v s="$seconds" 'BEGIN { print 100 * s }')" \
	"$(acct -X -j "$job" -o consumedenergyraw)"
same "the extern step's cluster is its job's" 1 "$(acct -j "$job" -o cluster | sort -u | wc -l)"
same "complete" "COMPLETED|2/2|" "$(acct -X -j "$job" -o state,coverage,flags)"
check "its steps add up to more" test "$(acct -j "$job.0,$job.1,$job.batch,$job.extern" -o consumedenergyraw |
	awk '{ s += $1 } END { print s }')" -gt "$(acct -X -j "$job" -o consumedenergyraw | awk '{ print int($1 * 3 / 2) }')"

# --- only the steps are measured; they overlap
forget_records
write_conf "Default = off"
script 'srun -Q --overlap --energy=perf sleep 4 &' 'sleep 2' 'srun -Q --overlap --energy=perf sleep 4' wait
job=$(submit -N1 -n1 --exclusive)
check "job $job ends" wait_for 60 gone "$job"
wait_records 2
ingest
seconds=$(acct -X -j "$job" -o elapsedraw)
check "it took $seconds s" test "$seconds" -ge 5
check "two steps took longer" test "$(acct -j "$job.0,$job.1" -o elapsedraw | awk '{ s += $1 } END { print s }')" -ge 8
read -r from to < <(records . | awk -F'[,:]' '{ for (i = 1; i < NF; i++) {
	if ($i == "\"start_ns\"" && (!a || $(i + 1) < a)) a = $(i + 1)
	if ($i == "\"end_ns\"" && $(i + 1) > b) b = $(i + 1) } } END { print a, b }')
near "every second once" "$(awk -v a="$from" -v b="$to" 'BEGIN { print 100 * (b - a) / 1e9 }')" \
	"$(acct -X -j "$job" -o consumedenergyraw)"

# --- requeued while it ran: the last run by default, both with -D
forget_records
write_conf "Default = auto"
# shellcheck disable=SC2016
script 'srun -Q sleep $((${SLURM_RESTART_COUNT:-0} ? 2 : 60))'
# slurmd refuses a job that comes back in the second in which its first run's credential was revoked ("Job 3
# already killed, do not launch batch job"), and slurmctld then ends it: released 3 s later.
for try in 1 2 3; do
	forget_records
	job=$(submit -N1 -n1 --exclusive --requeue)
	wait_for 30 sh -c "squeue -h -t R -j $job | grep -q ."
	wait_for 20 sh -c "ls '$D'/spooled/*.$job.0.*.ckpt >/dev/null 2>&1"
	sleep 2
	scontrol requeue "$job"
	wait_for 60 sh -c "squeue -h -t PD -j $job | grep -q ."
	wait_records 3
	sleep 3
	scontrol update JobId="$job" StartTime=now
	check "job $job ends" wait_for 90 gone "$job"
	wait_for 10 sh -c "[ \$(cat '$D'/spooled/*.journal | grep -c '\"step\":-5') -ge 2 ]" && break
	echo "try $try: Slurm did not start job $job again"
done
# Slurm starts no second extern step when the job comes back to a node at once.
wait_records 2 '"step":-5'
same "the srun step knows of the restart" 0 "$(records '"restart":1' | field step)"
ingest
same "the last run" "$job|1|COMPLETED" "$(acct -X -j "$job" -o jobid,restarts,state)"
same "both runs" "0 1" "$(acct -X -D -j "$job" -o restarts | xargs)"
same "the run is what encloses it" "$(acct -j "$job.extern,$job.batch" -o consumedenergyraw | tail -n 1)" \
	"$(acct -X -j "$job" -o consumedenergyraw)"
near "100 W in the first run" "$(acct -D -X -j "$job" -o elapsedraw | awk 'NR == 1 { print 100 * $1 + 50 }')" \
	"$(acct -D -X -j "$job" -o consumedenergyraw | head -n 1)" 50
finish
