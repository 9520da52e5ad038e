#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A job must not be able to tell that it is measured: same output, exit
# code, descriptors, signals, limits and environment; and nothing is left.
. "${top_srcdir:-.}/tests/slurm/common"

known_watts 100
make_preload
write_conf
start_cluster --nodes 4

# What a task can see of its surroundings. Ports, ids and times are masked.
cat >"$D/look" <<'END'
#!/bin/bash
# Slurm leaks one of its own to tasks, under whatever number was free.
ls -l /proc/self/fd | sed -nE 's/.* -> //; s/[0-9]+/N/gp' | sort
grep -E '^(Sig[^Q]|Shd|Threads|Uid|Gid|Groups|NoNewPrivs|Cap|Seccomp)' /proc/self/status
trap
ulimit -a
umask
pwd
cat /proc/self/oom_score_adj /proc/self/cgroup
nice
echo "maps: $(grep -c ergon /proc/self/maps)"
env | sort | sed -E 's/^(SLURM_[A-Z_]*(ID|JOBID|PORT|PID|ADDR|FD)|SLURM_JOB_[A-Z]*_TIME|TMPDIR|SRUN_[A-Z_]*|PMIX_[A-Z_0-9]*|PALS_[A-Z_]*)=.*/\1=/'
echo "to stderr" >&2
printf 'bytes: \000\001\377 no newline'
exit 7
END
chmod +x "$D/look"

# run NAME [OPTION...]: output, errors and exit code of one srun.
run() {
	local name=$1
	shift
	(cd / && srun -Q -w n1 -n1 "$@" "$D/look" >"$D/$name.out" 2>"$D/$name.err"
	 echo $? >"$D/$name.rc")
	# The task's own words and srun's come in any order.
	sort -o "$D/$name.err" "$D/$name.err"
}
alike() {
	check "$1: same stdout" diff -a "$D/off.out" "$D/$1.out"
	check "$1: same stderr" diff "$D/off.err" "$D/$1.err"
	same "$1: exit code" "$(cat "$D/off.rc")" "$(cat "$D/$1.rc")"
}
plugin_off
run off
same "exit code passed through" 7 "$(cat "$D/off.rc")"
plugin_on
run inert
alike inert
run measured --energy=perf,freq=1000
alike measured
run mpi --energy=perf,mpi
same "mpi: exit code" 7 "$(cat "$D/mpi.rc")"
check "mpi: same stderr" diff "$D/off.err" "$D/mpi.err"
same "mpi: only these lines differ" "maps: ERGON_BOARD= ERGON_FREQ= LD_PRELOAD=" \
	"$(diff -a "$D/off.out" "$D/mpi.out" | sed -nE 's/^> ([A-Za-z_]+[=:]).*/\1/p' | xargs)"
wait_records 2

# A task that dies by a signal, one that cannot be started, many at once.
for mode in off on; do
	plugin_$mode
	[ $mode = off ] && energy=() || energy=("--energy=perf,mpi")
	: >"$D/$mode.all"
	for command in "sh -c 'kill -SEGV \$\$'" "sh -c 'kill -KILL \$\$'" false /no/such/program; do
		eval "srun -Q -N2 -n2 ${energy[*]} $command" >>"$D/$mode.all" 2>&1
		echo "exit $?" >>"$D/$mode.all"
	done
	seq 10000 | srun -Q -N1 -n1 "${energy[@]}" cat >>"$D/$mode.all" 2>&1
	sed -E -i 's/job [0-9]+|StepId=[0-9.]+|[0-9]+\.0 /N/g; s/\[[0-9T:.-]+\]//g; s/n[1-4]\b/n/g; s/task [01]/task/' "$D/$mode.all"
	sort -o "$D/$mode.all" "$D/$mode.all"
done
check "failing commands look the same" diff "$D/off.all" "$D/on.all"

# Many forks while the sampler is busy.
srun -Q -N2 -n64 --overcommit --energy=perf,mpi,freq=1000 true || fail "64 tasks at 1000 Hz failed"
wait_records 2 '"ntasks":64'

# A hundred launches leave nothing.
plugin_on
write_conf "Default = auto" "Checkpoint = 1"
wait_for 20 no_stepds || fail "slurmstepds stay"
forget_records
before=$(date +%s%N)
for ((i = 1; i <= 100; i++)); do
	energy=()
	[ $((i % 2)) -eq 0 ] || energy=("--energy=perf,mpi")
	srun -Q -N4 "${energy[@]}" true || fail "srun $i failed"
done
echo "100 launches took $((($(date +%s%N) - before) / 1000000)) ms"
wait_records 400
check "no slurmstepd is left" wait_for 20 no_stepds
same "files in RunDir" topology "$(ls "$D/ergonrun")"
same "files in SpoolDir" "n1.journal n2.journal n3.journal n4.journal" "$(cd "$D/spooled" && echo *)"
same "error lines in the logs of slurmd" "" \
	"$(grep -hiE 'error|fatal|ergon' "$D"/log/n[0-9].log | grep -vE 'execve|no/such|task.*(signal|exit)')"
finish
