#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# ergon acct: rows, columns and selection, from journals of known figures.
set -u
ergon=$top_builddir/ergon
make_journal=$top_builddir/tests/tools/journal_make
[ -x "$make_journal" ] || { echo "built without SQLite"; exit 77; }
unset ERGON_ACCT_FORMAT ERGON_DEBUG
export TZ=UTC

dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
failures=0

fail() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# 2026-12-01T00:00:00 and so many seconds, in ns
at() { echo $((1796083200 + $1))000000000; }

# expect WHAT EXPECTED ARGUMENT...: the output of ergon acct
expect() {
	local what=$1 expected=$2 got
	shift 2
	got=$("$ergon" acct "$@" 2>&1)
	[ "$got" = "$expected" ] || fail "$what: expected
$expected
got
$got"
}

mkdir -m 0700 "$dir/spool"
export ERGON_CONF=$dir/conf
printf 'SpoolDir = %s/spool\nStore = sqlite:%s/ergon.db\n' "$dir" "$dir" >"$dir/conf"

"$ergon" acct 2>"$dir/err"; [ $? = 1 ] || fail "no store: exit"
grep -q 'ergon ingest' "$dir/err" || fail "no store: no advice"

cat >"$dir/spec" <<EOF
# 10: batch encloses an srun step on n1; step 0 also on n2
job=10 step=-5 node=n1 end_ns=$(at 20) job_uj=2000000000 node_uj=2000000000 package=1500000000 dram=500000000 ntasks=1
job=10 node=n1 nnodes=2 ntasks=8 start_ns=$(at 5) end_ns=$(at 15) job_uj=1000000000 node_uj=1000000000 package=700000000 dram=300000000
job=10 node=n2 nnodes=2 ntasks=8 start_ns=$(at 5) end_ns=$(at 15) job_uj=630500000 node_uj=800000000 package=600000000 max_mw=90500 flags=shared
# 11: extern covers all and does not know its cluster or names
job=11 step=-4 node=n1 cluster= user= account= partition= job_name= end_ns=$(at 100) job_uj=10000000000 node_uj=10000000000
job=11 step=-5 node=n1 start_ns=$(at 1) end_ns=$(at 99) job_uj=9800000000 node_uj=9800000000
job=11 node=n1 start_ns=$(at 2) end_ns=$(at 50) job_uj=4800000000 node_uj=4800000000 exit_code=256
# 12: two steps overlap by 5 s; the curve of the second tells its second half
job=12 step=0 end_ns=$(at 10) job_uj=1000000000 node_uj=1000000000
job=12 step=1 start_ns=$(at 5) end_ns=$(at 15) job_uj=1000000000 node_uj=1000000000 curve=5000000000:250000,750000
# 13: requeued
job=13 restart=0 state=partial flags=partial end_ns=$(at 30) job_uj=3000000000
job=13 restart=1 start_ns=$(at 60) end_ns=$(at 70) job_uj=1000000000
# 22: requeued, and the extern steps do not know it; 23: the number came back
job=22 step=-4 node=n1 cluster= end_ns=$(at 30) job_uj=3000000000
job=22 step=-5 node=n1 start_ns=$(at 1) end_ns=$(at 30) job_uj=2900000000 exit_code=15
job=22 step=-4 node=n2 cluster= start_ns=$(at 60) end_ns=$(at 70) job_uj=1000000000
job=22 step=-5 node=n2 start_ns=$(at 61) end_ns=$(at 70) job_uj=900000000 restart=1
job=23 job_uj=5000000
job=23 start_ns=$(at 500) end_ns=$(at 510) job_uj=6000000
# 14: the number lives in two clusters, with two owners
job=14 cluster=c1 job_uj=14000000
job=14 cluster=c2 uid=4000000 user=bob job_uj=28000000
# 15: array task, a model; 16: het; 17: no energy; 18: scopes differ, a node is missing
job=15 array_job=500 array_task=3 model=1 mechanism=model scope=estimate flags=estimated job_uj=101630000000 node_uj=101630000000
job=16 het=1 job_uj=1000000
job=17 mechanism= scope= flags=noenergy
job=18 nnodes=3 node=n1 job_uj=1000000
job=18 nnodes=3 node=n2 job_uj=1000000 scope=node
# 19: of another user, names that would like to do harm
job=19 uid=4000000 user=bob job_name=$(printf 'x\033[2J|y') job_uj=1000000
# 20: still running; 21: of long ago, from before to after midnight
job=20 state=running end_ns=$(at 7) job_uj=700000000 exit_code=null
job=21 start_ns=$(at -900000) end_ns=$(at -800000) job_uj=1000000
EOF
"$make_journal" <"$dir/spec" >"$dir/spool/n1.journal" || fail "journal_make"
"$ergon" ingest --quiet || fail "ingest: exit $?"

# --- the default layout
"$ergon" acct -j 10,15,17 | sed 's/ *$//' >"$dir/out"
cat >"$dir/expected" <<'EOF'
JobID           JobName  Partition    Account   NNodes    Elapsed      State ConsumedEnergy     NodeEnergy   AveWatts  Mechanism Flags
------------ ---------- ---------- ---------- -------- ---------- ---------- -------------- -------------- ---------- ---------- --------------------
10               solver      batch       phys        2   00:00:20  COMPLETED          2.63K          2.80K      131.5       perf shared
10.batch          batch      batch       phys        1   00:00:20  COMPLETED             2K             2K      100.0       perf
10.0             solver      batch       phys        2   00:00:10  COMPLETED          1.63K          1.80K      163.1       perf shared
500_3            solver      batch       phys        1   00:00:10  COMPLETED       ~101.63K       ~101.63K   ~10163.0      model estimated
500_3.0          solver      batch       phys        1   00:00:10  COMPLETED       ~101.63K       ~101.63K   ~10163.0      model estimated
17               solver      batch       phys        1   00:00:10  COMPLETED                                                     noenergy
17.0             solver      batch       phys        1   00:00:10  COMPLETED                                                     noenergy
EOF
diff "$dir/expected" "$dir/out" || fail "default layout"

# --- totals to the joule
all=jobid,consumedenergyraw,coverage
expect "batch encloses" "10|2631|2/2
10.batch|2000|1/1
10.0|1631|2/2" -P -n -j 10 -o $all
expect "domains" "10|2.10K|500
10.batch|1.50K|500
10.0|1.30K|300" -P -n -j 10 -o jobid,packageenergy,dramenergy
expect "extern is the job" "11|10000|c1|alice|solver|0:0|COMPLETED
11.batch|9800|c1|alice|batch|0:0|COMPLETED
11.extern|10000|c1||extern|0:0|COMPLETED
11.0|4800|c1|alice|solver|1:0|FAILED" -P -n -j 11 -o jobid,consumedenergyraw,cluster,user,jobname,exitcode,state
expect "overlap by curve" "12|1750" -P -n -X -j 12 -o jobid,consumedenergyraw
expect "requeued, last run" "13|1000|1" -P -n -X -j 13 -o jobid,consumedenergyraw,restarts
expect "requeued, all runs" "13|3000|0|PARTIAL|partial
13|1000|1|COMPLETED|" -P -n -X -D -j 13 -o jobid,consumedenergyraw,restarts,state,flags
expect "requeued, extern does not know" "22|3000|0|FAILED
22|1000|1|COMPLETED" -P -n -X -D -j 22 -o jobid,consumedenergyraw,restarts,state
expect "requeued, its last run" "22|1000
22.batch|900
22.extern|1000" -P -n -j 22 -o jobid,consumedenergyraw
expect "the number came back" "23|5|0
23|6|1" -P -n -X -D -j 23 -o jobid,consumedenergyraw,restarts
expect "two clusters" "14|c1|14
14|c2|28" -P -n -X -j 14 -o jobid,cluster,consumedenergyraw
expect "scopes differ" "18|2|mixed|2/3|mixed" -P -n -X -j 18 -o jobid,consumedenergyraw,scope,coverage,flags
expect "running" "20|RUNNING|Unknown|00:00:07||700" -P -n -X -j 20 -o jobid,state,end,elapsed,exitcode,consumedenergyraw
expect "raw has no mark" "101630" -P -n -X -j 15 -o consumedenergyraw
expect "other figures" "n[1-2]|90.5|2631|20|2026-12-01T00:00:00|2026-12-01T00:00:20|8|alice|1000" -P -n -X -j 10 \
	-o nodelist,maxwatts,consumedenergyraw,elapsedraw,start,end,ncpus,user,uid

# --- selection
ids() { "$ergon" acct -P -n -o jobid "$@" | paste -s -d ' '; }
[ "$(ids -j 10.0)" = "10.0" ] || fail "-j 10.0"
[ "$(ids -j 10.batch,11.extern)" = "10.batch 11.extern" ] || fail "-j special steps"
[ "$(ids -X -j 500)" = "500_3" ] || fail "-j of an array"
[ "$(ids -X -j 500_3,500_4)" = "500_3" ] || fail "-j of a task"
[ "$(ids -X -j 15)" = "500_3" ] || fail "-j of a task's own number"
[ "$(ids -X -j 16+1)" = "16+1" ] || fail "-j of a het component"
[ "$(ids -X -j 16+0)" = "" ] || fail "-j of another het component"
[ "$(ids -X -j 10 -u bob)" = "" ] || fail "-j with -u"
[ "$(ids -X -u bob -S 2026-12-01 -E 2026-12-02)" = "14 19" ] || fail "-u name"
[ "$(ids -X -u 4000000 -S 2026-12-01 -E 2026-12-02)" = "14 19" ] || fail "-u number"
[ "$(ids -X -a -S 2026-12-01T00:00:31 -E 2026-12-01T00:00:59)" = "11 13 22 23" ] || fail "-S -E"
[ "$(ids -X -a -S 2026-11-21 -E 2026-11-22)" = "21" ] || fail "-S -E inside a job"
[ "$(ids -X -a -S 2026-11-01 -E 2026-11-02)" = "" ] || fail "-S -E of another day"

# --- layouts
expect "nothing found" "JobID        Elapsed    
------------ ---------- " -j 999 -o jobid,elapsed%-10
expect "parsable" "JobID;State;
10;COMPLETED;
10.batch;COMPLETED;
10.0;COMPLETED;" -p --delimiter ';' -j 10 -o jobid,state
expect "harmless names" "19|x?[2J?y" -P -n -X -j 19 -o jobid,jobname
expect "harmless names, aligned" "x?[2J|y " -n -X -j 19 -o jobname%7
ERGON_ACCT_FORMAT=jobid,state expect "ERGON_ACCT_FORMAT" "10|COMPLETED" -P -n -X -j 10
ERGON_ACCT_FORMAT=jobid expect "-o before ERGON_ACCT_FORMAT" "COMPLETED" -P -n -X -j 10 -o state
"$ergon" acct -e | grep -q '^Account  *AveWatts  *Cluster  *ConsumedEnergy *$' || fail "-e"

json=$("$ergon" acct --json -j 10,17)
for piece in '{"v":1,"jobs":[{"id":"10","job":10,"cluster":"c1",' '"job_j":2630.5,"node_j":2800.0,' \
	'"domains_j":{"package":2100.0,"dram":500.0}' '"steps":[{"id":"10.batch","job":10,"step":-5,' \
	'"job_j":null,"node_j":null,"domains_j":{},"ave_w":null' '"nodes_measured":0,"flags":["noenergy"]'; do
	case $json in *"$piece"*) ;; *) fail "--json lacks $piece" ;; esac
done
case $("$ergon" acct --json -j 19) in *'"name":"x\u001B[2J|y"'*) ;; *) fail "--json changes names" ;; esac
[ "$("$ergon" acct --json -j 999)" = '{"v":1,"jobs":[]}' ] || fail "--json of nothing"
if command -v python3 >/dev/null; then
	"$ergon" acct --json -a -S 2026-01-01 | python3 -c '
import json, sys
jobs = json.load(sys.stdin)["jobs"]
assert len(jobs) == 15, len(jobs)
assert sum(len(j["steps"]) for j in jobs) == 20' || fail "--json of all"
fi

# --- wrong use
"$ergon" acct -o jobid,nonsense >"$dir/out" 2>"$dir/err"; [ $? = 1 ] || fail "bad field: exit"
grep -q 'Invalid field requested: "nonsense"' "$dir/err" || fail "bad field: words"
[ -s "$dir/out" ] && fail "bad field: output"
for wrong in '-j x' '-j 1.nonsense' '-S yesterday' '--delimiter=' '--nonsense' 'stray'; do
	# shellcheck disable=SC2086
	"$ergon" acct $wrong >/dev/null 2>"$dir/err"; [ $? = 2 ] || fail "$wrong: exit"
	[ -s "$dir/err" ] || fail "$wrong: no words"
done
"$ergon" acct -j 10 >/dev/full 2>/dev/null; [ $? = 1 ] || fail "full output: exit"

# --- an ordinary user who may read the store sees own jobs, and need not be able to write
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	cp "$ergon" "$dir/tool" 2>/dev/null
	[ -x "$top_builddir/.libs/ergon" ] && cp "$top_builddir/.libs/ergon" "$dir/tool"
	chmod 755 "$dir/tool"
	chmod o+r "$dir"/ergon.db*
	as_user() {
		setpriv --reuid "$1" --regid 4000000 --clear-groups "$dir/tool" acct --config "$dir/conf" \
			-P -n -X -o jobid "${@:2}" 2>"$dir/err" | paste -s -d ' '
	}
	[ "$(as_user 4000000 -S 2026-11-01)" = "14 19" ] || fail "own jobs: $(cat "$dir/err")"
	[ "$(as_user 4000001 -S 2026-11-01)" = "" ] || fail "no jobs of one's own"
	[ "$(as_user 4000000 -j 10)" = "10" ] || fail "-j as a user"
	chmod o-r "$dir/ergon.db"
	as_user 4000000 -j 10 >/dev/null
	grep -q 'Permission denied' "$dir/err" || fail "no permission: no words"
fi

[ "$failures" = 0 ] || { echo "$failures failures"; exit 1; }
