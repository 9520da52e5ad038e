#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A node's own meter (files of pm_counters) read by slurmstepd: the joules
# that the job puts there are in the record and in acct; a BMC that never
# answers costs the job nothing.
. "${top_srcdir:-.}/tests/slurm/common"

cp -R "$top_srcdir/tests/sysroots/cray-ex-mi250x" "$D/sysroot" && chmod -R u+w "$D/sysroot"
mkdir "$D/sysroot/dev" && : >"$D/sysroot/dev/ipmi0"
write_conf
"$cluster" start "$D" --plugin "$plugin" --plugin-args "conf=$D/ergon.conf" --nodes 1 9>&- || exit 1
eval "$("$cluster" env "$D")"

cat >"$D/job" <<END
cd $D/sysroot/sys/cray/pm_counters
sleep 0.5
echo '81234690 J 1733054400223456 us' >energy
echo '14234602 J 1733054400223456 us' >accel2_energy
sleep 0.5
END
srun -N1 -n1 --energy=cray bash "$D/job" 2>"$D/err" || fail "srun failed: $(cat "$D/err")"
wait_records 1
same "mechanism" cray "$(records | field mechanism)"
same "scope" node "$(records | field scope)"
same "joules of the node" 123000000 "$(records | field node_uj)"
same "joules of a card" 40000000 "$(records | jq .domains.gpu)"
same "nothing missing" "[]" "$(records | jq -c '.flags - ["shared", "missed"]')"

job=$(records | field job)
"$ergon" ingest --config "$D/ergon.conf" || fail "ingest failed"
same "acct" 123 "$("$ergon" acct --config "$D/ergon.conf" -a -j "$job.0" -n -P -o NodeEnergy | sed 's/[.J].*//')"

before=$(date +%s%N)
srun -N1 -n1 --energy=dcmi bash -c 'echo ran; exit 3' >"$D/out" 2>"$D/err"
same "the job's exit" 3 $?
took=$((($(date +%s%N) - before) / 1000000))
same "the job's output" ran "$(cat "$D/out")"
# Less than one request to the BMC may take.
check "no waiting for a BMC ($took ms)" [ $took -lt 5000 ]
wait_records 2
same "no joule without an answer" "null null" \
	"$(records | jq -r 'select(.mechanism == "dcmi") | "\(.node_uj) \(.scope)"')"
finish
