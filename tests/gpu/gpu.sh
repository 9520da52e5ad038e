#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# GPUs through the tools: exact joules beside RAPL, rights, libraries that lack something.
: "${top_srcdir:=.}" "${top_builddir:=.}"
# shellcheck source=tests/stat/lib.sh
. "$top_srcdir/tests/stat/lib.sh"
need_jq

stubs=$top_builddir/tests/stub
export LD_LIBRARY_PATH="$stubs/.libs" ERGON_TEST_GPUS="$tmp/gpus"

# machine NAME: a copy of a fixture, and its story
machine() {
	rm -rf "$tmp/machine"
	cp -R "$top_srcdir/tests/sysroots/$1" "$tmp/machine"
	chmod -R u+w "$tmp/machine"
	cp "$tmp/machine/gpus" "$tmp/gpus"
	export ERGON_SYSROOT="$tmp/machine"
}

# tell SED-SCRIPT: change the story at once
tell() {
	sed "$1" "$tmp/gpus" > "$tmp/gpus.new"
	mv "$tmp/gpus.new" "$tmp/gpus"
}

# value JQ-EXPRESSION: of the last result
value() { jq -r "$1" "$tmp/json"; }

# --- eight GPUs, one denied: 250 J of one, 4.5 J of another, RAPL at rest ---
machine dgx-h100
tell '1s/^/init 0 400\n/'
cat > "$tmp/work" << 'END'
sleep 0.3
sed 's/^\(gpu 0000:1b:00.0 0 0\) [0-9]*/\1 9250000/; s/^\(gpu 0000:df:00.0 0 0\) [0-9]*/\1 9004507/
s/^\(gpu 0000:d1:00.0 0 0\) [0-9]*/\1 9999999/' "$ERGON_TEST_GPUS" > "$ERGON_TEST_GPUS.new"
mv "$ERGON_TEST_GPUS.new" "$ERGON_TEST_GPUS"
sleep 1
END
check_exit 0 "stat with GPUs" "$ergon" stat --json "$tmp/json" -o "$tmp/csv" -- sh "$tmp/work"
check "mechanism" [ "$(value .mechanism)" = powercap+nvml ]
check "scope" [ "$(value .scope)" = cpu+dram+gpu ]
check "joules of the GPUs: $(value .domains.gpu.j)" [ "$(value .domains.gpu.j)" = 254.5 ]
check "joules of the total: $(value .total_j)" [ "$(value .total_j)" = 254.5 ]
check "seven GPUs" [ "$(value '.domains.gpu.instances | length')" = 7 ]
check "250 J are gpu0's" [ "$(value '.domains.gpu.instances[0].j')" = 250 ]
check "nothing missing" [ "$(value '.flags | index("gap")')" = null ]
check "columns" grep -q 'gpu0_j,.*gpu6_j' "$tmp/csv"

# --- alone, and asked for together ---
check_exit 0 "list -m nvml" "$ergon" list -m nvml
check "its scope" grep -q 'In use: nvml. The total covers gpu.' "$tmp/out"
check_exit 0 "list -m powercap+nvml" "$ergon" list -m powercap+nvml
check_exit 1 "no rocm here" "$ergon" list -m powercap+rocm
check "said" grep -q 'rocm: no AMD GPU' "$tmp/err"

# --- a driver that does not answer: told by list, and the rest is measured ---
tell 's/^init.*/init 18 0/; s/^gpu.*//'
check_exit 0 "list with a broken driver" "$ergon" list
check "nvml says why" grep -q '^nvml  *unsupported  *nvmlInit: Driver/library version mismatch' "$tmp/out"
check_exit 0 "stat with a broken driver" "$ergon" stat --json "$tmp/json" -- sleep 0.3
check "absent, not 0 J" [ "$(value .domains.gpu)" = null ]
check "not in the scope" [ "$(value .scope)" = cpu+dram ]
check "flagged" [ "$(value '.flags | index("gap") != null')" = true ]

# --- a library that lacks a function is no library ---
LD_LIBRARY_PATH="$stubs/lacking/.libs" "$ergon" list > "$tmp/out" 2>&1
check "an old library" grep -q '^nvml  *absent .*has no nvmlDeviceGetTotalEnergyConsumption' "$tmp/out"
check "RAPL goes on" grep -q 'In use: powercap\. ' "$tmp/out"

# --- AMD: four cards of two dies ---
machine mi250x
cat > "$tmp/work" << 'END'
sed 's/^\(gpu 0000:d9:00.0 0 0\) [0-9]*/\1 900100000/' "$ERGON_TEST_GPUS" > "$ERGON_TEST_GPUS.new"
mv "$ERGON_TEST_GPUS.new" "$ERGON_TEST_GPUS"
sleep 0.6
END
check_exit 0 "stat with AMD GPUs" "$ergon" stat --json "$tmp/json" -- sh "$tmp/work"
check "mechanism" [ "$(value .mechanism)" = powercap+rocm ]
check "scope" [ "$(value .scope)" = cpu+gpu ]
# 100000 counts of a float 15.259 uJ
check "joules: $(value .domains.gpu.j)" holds "$(value .domains.gpu.j) > 1.525899 && $(value .domains.gpu.j) < 1.525901"

# --- a card that hwmon knows too: its counter is taken, the other card's power stays ---
machine mi250x
rm -rf "$tmp/machine"
cp -R "$top_srcdir/tests/sysroots/amdgpu-workstation" "$tmp/machine"
chmod -R u+w "$tmp/machine"
mkdir -p "$tmp/machine/dev" "$tmp/machine/sys/bus/pci/drivers/amdgpu/0000:03:00.0"
: > "$tmp/machine/dev/kfd"
echo 0x73bf > "$tmp/machine/sys/bus/pci/drivers/amdgpu/0000:03:00.0/device"
echo 'gpu 0000:03:00.0 0 0 7000 0 0' > "$tmp/gpus"
check_exit 0 "list with two mechanisms for a card" "$ergon" list --json
cp "$tmp/out" "$tmp/json"
check "both are in use" [ "$(value .mechanism)" = powercap+hwmon+rocm ]
check "the counter is taken" [ "$(value '.channels[] | select(.id == "pci 0000:03:00.0").source')" = rocm ]
check "the other card" [ "$(value '.channels[] | select(.id == "pci 0000:09:00.0").source')" = hwmon ]
check "told" grep -q 'tells only power; rocm counts energy' "$tmp/json"

# --- Grace Hopper: the module's meter holds the GPU ---
rm -rf "$tmp/machine"
cp -R "$top_srcdir/tests/sysroots/grace-hopper" "$tmp/machine"
chmod -R u+w "$tmp/machine"
gpu=$tmp/machine/proc/driver/nvidia/gpus/0009:01:00.0
mkdir -p "$gpu" "$tmp/machine/dev"
printf 'Model: \t\t NVIDIA GH200 480GB\nBus Location: \t 0009:01:00.0\nDevice Minor: \t 0\n' > "$gpu/information"
: > "$tmp/machine/dev/nvidiactl"
: > "$tmp/machine/dev/nvidia0"
echo 'gpu 0009:01:00.0 0 0 7000 3 0' > "$tmp/gpus"
check_exit 0 "list on Grace Hopper" "$ergon" list --json
cp "$tmp/out" "$tmp/json"
check "the module is the total" [ "$(value .scope)" = module ]
check "the GPU is inside" [ "$(value '.channels[] | select(.source == "nvml") | .why')" = "inside module" ]

# --- device files that only root may open: a permission ---
as_user=
if [ "$(id -u)" -eq 0 ]; then
	command -v setpriv > /dev/null && as_user="setpriv --reuid=65534 --regid=65534 --clear-groups"
fi
if [ "$(id -u)" -ne 0 ] || [ -n "$as_user" ]; then
	cp "$ergon" "$tmp/ergon"
	chmod 0755 "$tmp"
	machine dgx-h100
	cp -R "$stubs/.libs" "$tmp/libs"
	chmod 0000 "$tmp/machine/dev/nvidiactl"
	# shellcheck disable=SC2086 # words, not one name
	check_exit 1 "nvidiactl denied" env LD_LIBRARY_PATH="$tmp/libs" $as_user "$tmp/ergon" list -m nvml
	check "said" grep -q 'nvml: /dev/nvidiactl: Permission denied; let users' "$tmp/err"
	chmod 0644 "$tmp/machine/dev/nvidiactl"
	chmod 0666 "$tmp/machine"/dev/nvidia*
	chmod 0600 "$tmp/machine"/dev/nvidia[0-57]
	# shellcheck disable=SC2086
	check_exit 1 "no GPU of this job" env LD_LIBRARY_PATH="$tmp/libs" $as_user "$tmp/ergon" list -m nvml
	check "said" grep -q 'none of 8 NVIDIA GPUs may be opened; ask for GPUs' "$tmp/err"
else
	echo "not tested: permissions (root without setpriv)"
fi

finish
