#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A node with GPUs (a stub of NVML): their joules are in the record and in
# acct; slurmstepd loads the library, the task does not.
. "${top_srcdir:-.}/tests/slurm/common"

cp -R "$top_srcdir/tests/sysroots/dgx-h100" "$D/sysroot" && chmod -R u+w "$D/sysroot"
cp "$D/sysroot/gpus" "$D/gpus"
cp -R "$top_builddir/tests/stub/.libs" "$D/libs"
write_conf
(
	export LD_LIBRARY_PATH=$D/libs ERGON_TEST_GPUS=$D/gpus
	"$cluster" start "$D" --plugin "$plugin" --plugin-args "conf=$D/ergon.conf" --nodes 1 9>&-
) || exit 1
eval "$("$cluster" env "$D")"

cat >"$D/job" <<END
sleep 1.5
sed 's/^\(gpu 0000:1b:00.0 0 0\) [0-9]*/\1 9250000/; s/^\(gpu 0000:df:00.0 0 0\) [0-9]*/\1 9004507/' \
	$D/gpus >$D/gpus.new
mv $D/gpus.new $D/gpus
sleep 1
cat /proc/self/maps
END
srun -N1 -n1 --energy=auto bash "$D/job" >"$D/maps" 2>"$D/err" || fail "srun failed: $(cat "$D/err")"
wait_records 1
same "mechanism" powercap+nvml "$(records | field mechanism)"
same "scope" cpu+dram+gpu "$(records | field scope)"
same "joules of the GPUs" 254500000 "$(records | jq .domains.gpu)"
same "joules of the node" 254500000 "$(records | field node_uj)"
check "the task has no library of ours" sh -c '! grep -q nvidia "$1"' sh "$D/maps"

same "nothing missing" null "$(records | jq '.flags | index("gap")')"

job=$(records | field job)
"$ergon" ingest --config "$D/ergon.conf" || fail "ingest failed"
same "acct" 254 "$("$ergon" acct --config "$D/ergon.conf" -a -j "$job.0" -n -P -o GpuEnergy | sed 's/[.J].*//')"
"$ergon" acct --config "$D/ergon.conf" -a -j "$job.0" -P -o JobID,GpuEnergy,Mechanism,Scope,Flags
finish
