#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# --energy in all its ways: srun, sbatch, salloc, directives, lost, doubled,
# inherited, wrong; and every kind of step of a job with Contain.
. "${top_srcdir:-.}/tests/slurm/common"

known_watts 100
make_preload
write_conf
start_cluster --nodes 2 --contain
cd "$D" || exit 1

# script NAME LINE...: a batch script.
script() {
	local name=$1
	shift
	printf '%s\n' '#!/bin/bash' "$@" >"$D/$name.sh"
	chmod +x "$D/$name.sh"
}
batch() { sbatch -Q -W -o "$D/batch.out" "$@"; }
# The steps on record, sorted: "-5 0".
steps() { records | field step | sort -n | xargs; }

# --- refused, with one clear line before Slurm's own
for spec in nonsense perf,speed=3 perf,freq=0 perf,mpi=yes auto,share=half; do
	for command in "srun -N1 touch $D/ran" "sbatch -N1 --wrap true" "salloc -N1 touch $D/ran"; do
		read -r tool rest <<<"$command"
		eval "$tool -Q --energy=$spec $rest" >"$D/refused" 2>&1
		check "$tool refuses $spec" test $? -ne 0
		same "$tool says why once" 1 "$(grep -c '^--energy: ' "$D/refused")"
		same "$tool says no more than Slurm's own line" 2 "$(wc -l <"$D/refused")"
	done
done
check "nothing ran" test ! -e "$D/ran"
same "the line" "--energy: unknown mechanism 'nonsense': use one of auto, off," \
	"$(srun --energy=nonsense true 2>&1 | grep -o '^--energy.*off,')"
check "srun --help has it" grep -q -- '--energy' < <(srun --help)

# --- batch scripts
script directive '#SBATCH -N2 -n2 --energy=perf' 'srun -Q true'
batch "$D/directive.sh" || fail "sbatch failed"
wait_records 3
same "directive: batch and both nodes of the step" "-5 0 0" "$(steps)"
check "100 W" watts_are 100 2 < <(records '"step":-5')
forget_records

for export in NONE NIL PATH ALL; do
	batch --export=$export --energy=perf -N1 -n1 "$D/directive.sh"
	wait_records 2
	same "--export=$export: batch and step" "-5 0" "$(steps)"
	forget_records
done

script inner '#SBATCH -N1 -n1' 'srun -Q --energy=off true' 'srun -Q true' \
	'env | grep -c -e ^LD_PRELOAD= -e ^ERGON_BOARD= -e ^ERGON_FREQ='
batch --energy=perf,mpi "$D/inner.sh"
wait_records 2
same "off inside: batch and the second step" "-5 1" "$(steps)"
same "mpi: the batch script's environment is clean" 0 "$(cat "$D/batch.out")"
forget_records

batch --energy=perf --array=3-4 -N1 -n1 "$D/directive.sh"
wait_records 4
same "array tasks" "3 3 4 4" "$(records | field array_task | sort | xargs)"
forget_records

# --- srun
srun -Q -N1 --energy=off --energy=perf true
wait_records 1
forget_records
srun -Q -N1 --energy=perf --energy=off true
srun -Q -N1 true
SLURM_SPANK__SLURM_SPANK_OPTION_spank_ergon_energy=perf,freq=50 srun -Q -N1 true
wait_records 1
same "preset in the environment" 50 "$(records | field freq_hz)"
forget_records
srun -Q -N1 --energy true
wait_records 1
same "no value is auto" perf "$(records | field mechanism)"
forget_records
salloc -Q -N1 -n1 --energy=perf srun -Q true
wait_records 1
same "salloc: the step" 0 "$(steps)"
forget_records
# --mpi=none: Slurm's pmix plugin may join a thread of its own for ever when
# srun ends the second component.
timeout 120 srun -Q --mpi=none -N1 -n1 --energy=perf true : --mpi=none -N1 -n1 --energy=perf true
wait_records 2
same "both components of a het job" 2 "$(records | field job | sort -u | wc -l)"
forget_records
# A het step: its components agree in job, step and node index.
timeout 120 salloc -Q -N2 -n2 srun -Q --mpi=none -N1 -n1 --energy=perf,mpi \
	sh -c 'test -e "$ERGON_BOARD" && sleep 1' : \
	--mpi=none -N1 -n1 --energy=perf,mpi sh -c 'test -e "$ERGON_BOARD" && sleep 1' || fail "het step failed"
wait_records 2
same "both components of a het step" "0 1" "$(records | field het | sort | xargs)"
same "of one step" 1 "$(records | field job | sort -u | wc -l)"
forget_records

# --- what cannot be had: the job runs, one line from one node, the reason on record
srun -Q -N2 -n2 --energy=powercap hostname >"$D/out" 2>"$D/err"
same "the job runs" 0 $?
same "its output" 2 "$(wc -l <"$D/out")"
same "one line to the user" 1 "$(wc -l <"$D/err")"
check "the line" grep -q '^--energy: not measured: powercap: ' "$D/err"
wait_records 2
same "on record" 2 "$(records | grep -c '"node_uj":null.*"noenergy"')"
same "with the reason" 2 "$(records | grep -c '"reason":"powercap: ')"
forget_records
MPI_LESS=$(grep -v MpiLibrary "$D/ergon.conf")
printf '%s\nMpiLibrary = /no/such/library.so\n' "$MPI_LESS" >"$D/ergon.conf"
same "no library, no preload" "--energy: MPI calls are not seen: /no/such/library.so: No such file or directory" \
	"$(srun -Q -N1 -n1 --energy=perf,mpi sh -c 'test -z "$LD_PRELOAD"' 2>&1)"
wait_records 1
forget_records

# --- for ranks, as an ordinary user
write_conf
chmod 755 "$D/preloaded.so"
cat >"$D/rank" <<'END'
#!/bin/bash
dir=$(dirname "$ERGON_BOARD")
head -c 1 "$ERGON_BOARD" >/dev/null && echo readable
{ : >>"$ERGON_BOARD"; } 2>/dev/null || echo "not writable"
stat -c '%a %u' "$dir"
echo "$ERGON_SHARE $ERGON_FREQ $ERGON_OUTPUT_DIR $LD_PRELOAD"
END
chmod 755 "$D/rank"
setpriv --reuid=65534 --regid=65534 --clear-groups env LD_PRELOAD=libm.so.6 \
	srun -Q -N1 -n1 --energy=perf,mpi,freq=200,share=equal,out=results "$D/rank" >"$D/out" 2>"$D/err"
same "a rank's view" "readable|not writable|500 65534|equal 200 results $D/preloaded.so:libm.so.6" \
	"$(paste -sd'|' "$D/out")"
same "no complaint" "" "$(cat "$D/err")"
wait_records 1
check "its directory is gone" wait_for 10 test "$(ls "$D/ergonrun")" = topology
forget_records

# --- the site measures everything
write_conf "Default = auto"
script plain '#SBATCH -N2 -n2' 'srun -Q sleep 1' 'srun -Q --overlap -N1 -n1 sleep 1 & srun -Q --overlap -N1 -n1 sleep 1; wait'
batch "$D/plain.sh"
wait_records 7
same "extern on both nodes, batch, steps" "-5 -4 -4 0 0 1 2" "$(steps)"
check "100 W" watts_are 100 2 < <(records)
same "extern knows its node" "n1 n2" "$(records '"step":-4' | field node | sort | xargs)"
forget_records
srun -Q -N1 --energy=off true
wait_records 1
same "off: the extern step cannot know" "-4" "$(steps)"
forget_records
write_conf "Default = auto" "AllowOff = no"
srun -Q -N1 --energy=off true
wait_records 2
forget_records
write_conf "Default = auto" "Nonsense = 1"
srun -Q -N1 -n1 true
wait_records 2
forget_records
write_conf "Freq = never"
srun -Q -N1 -n1 --energy=perf true 2>"$D/err"
same "bad configuration: the job runs" 0 $?
check "the user is told where" grep -q "^--energy: not measured: $D/ergon.conf:6: Freq" "$D/err"

# --- two jobs share a node
write_conf "IdleWatts = 60"
if [ "$(nproc)" -gt 1 ]; then
	srun -Q -w n1 -N1 -n1 --energy=perf sleep 2 &
	one=$!
	srun -Q -w n1 -N1 -n1 --energy=perf sh -c 'end=$(($(date +%s) + 2)); while [ $(date +%s) -lt $end ]; do :; done'
	wait $one
	wait_records 2
	while read -r r; do
		same "job + other + unallocated = node" "$(field node_uj <<<"$r")" \
			$(($(field job_uj <<<"$r") + $(field other_uj <<<"$r") + $(field unallocated_uj <<<"$r")))
		check "a job's part is less than the node" \
			test "$(field job_uj <<<"$r")" -lt "$(field node_uj <<<"$r")"
	done < <(records)
	check "the jobs' parts are no more than the node" test \
		"$(records | field job_uj | awk '{ s += $1 } END { printf "%.0f", s * 0.99 }')" -le \
		"$(records | field node_uj | sort -n | tail -n 1)"
fi
finish
