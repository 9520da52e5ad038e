#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# `ergon list` and `ergon stat` by MSRs that are sparse files: a register's
# address is its offset. The measured command itself moves the counters, so
# the joules it is told to have used are exactly those.
. "${top_srcdir:?make check sets it}/tests/stat/lib.sh"
: "${tmp:?}" "${ergon:?}" # set by lib.sh
need_jq
machines=$top_srcdir/tests/sysroots

# machine NAME: the topology of one of tests/sysroots, and nothing to measure with
machine() {
	rm -rf "$tmp/root"
	mkdir -p "$tmp/root"
	cp "$machines/$1/topo.xml" "$tmp/root/"
	ln -s /proc "$tmp/root/proc"
	export ERGON_SYSROOT="$tmp/root"
}

# register CPU ADDRESS VALUE: 8 bytes, little-endian
cat > "$tmp/register" << 'END'
mkdir -p "$ERGON_SYSROOT/dev/cpu/$1"
bytes= value=$(($3))
for _ in 1 2 3 4 5 6 7 8; do
	bytes="$bytes\\0$(printf %o $((value & 255)))"
	value=$((value >> 8))
done
printf %b "$bytes" | dd of="$ERGON_SYSROOT/dev/cpu/$1/msr" bs=8 seek=$(($2)) oflag=seek_bytes \
	conv=notrunc status=none
END
register() { sh "$tmp/register" "$@"; }

# state of msr in $tmp/out, and its words
state() { jq -r '.mechanisms[] | select(.name == "msr") | .state' "$tmp/out"; }
told() { jq -r '.mechanisms[] | select(.name == "msr") | .reason + "; " + .remedy' "$tmp/out"; }
is() { [ "$1" = "$2" ] || { echo "  $1"; false; }; }
says() { grep -q -e "$1" "$tmp/err" || { cat "$tmp/err"; false; }; }

# --- Skylake server: two sockets of 4 cores; unit 2^-14 J, dram 2^-16 J ---
machine skylake-server
check_exit 1 "no module" "$ergon" list -m msr --json
check "absent" is "$(state)" absent
check "what to do" is "$(told)" "/dev/cpu/0/msr: No such file or directory; modprobe msr; a container needs the devices /dev/cpu/*/msr"
for cpu in 0 4; do
	register $cpu 0x606 0xa0e03
	register $cpu 0x611 0xfffffffe
	register $cpu 0x619 0xffff0000
	register $cpu 0x639 0
done
check_exit 0 "list" "$ergon" list -m msr --json
check "channels" is "$(jq -r '.channels[] | "\(.name) \(.package) \(.in_total) \(.detail)"' "$tmp/out")" \
	"package0 0 true msr 0x611 cpu0
package1 1 true msr 0x611 cpu4
dram0 0 true msr 0x619 cpu0
dram1 1 true msr 0x619 cpu4"
check "scope" is "$(jq -r '.mechanism + " " + .scope' "$tmp/out")" "msr cpu+dram"
check "the empty core registers" is "$(jq -r '.dropped[].what' "$tmp/out")" \
	"core register 0x639 cpu0
core register 0x639 cpu4"

# Package 0: 0x100000 counts = 64 J, over the edge; package 1: 32 J.
# Dram 0: 0x20000 counts = 2 J, over the edge; dram 1: 1 J, just to the edge.
# All in one interval of half a second: 64 J at once would be a glitch.
cat > "$tmp/work" << END
sleep 0.5
sh "$tmp/register" 0 0x611 0x0ffffe
sh "$tmp/register" 4 0x611 0x07fffe
sh "$tmp/register" 0 0x619 0x10000
sh "$tmp/register" 4 0x619 0
END
check_exit 0 "stat" "$ergon" stat -m msr -F 0.5 --json "$tmp/json" -- sh "$tmp/work"
check "joules" is "$(jq -c '[.mechanism, .scope, .total_j, .domains.package.j, .domains.dram.j,
	[.domains.package.instances[].j], [.domains.dram.instances[].j], .flags]' "$tmp/json")" \
	'["msr","cpu+dram",99,96,3,[64,32],[2,1],[]]'

# auto takes it where nothing better is there, and not beside powercap.
check_exit 0 "auto" "$ergon" list --json
check "msr is what is left" is "$(jq -r .mechanism "$tmp/out")" msr
mkdir -p "$tmp/root/sys/class"
cp -R "$machines/skylake-server/sys/class/powercap" "$tmp/root/sys/class/"
check_exit 0 "auto with powercap" "$ergon" list --json
check "the same counters once" is "$(jq -r .mechanism "$tmp/out")" powercap
check_exit 0 "cross-check" "$ergon" list --cross-check --json
check "with msr" is "$(jq -r '[.cross_check[] | .other] | unique[]' "$tmp/out")" msr
check "of all they both have" is "$(jq '.cross_check | length' "$tmp/out")" 4

# --- rights ---
if [ "$(id -u)" -eq 0 ] && command -v setpriv > /dev/null; then
	rm -rf "$tmp/root/sys"
	chmod 0600 "$tmp"/root/dev/cpu/*/msr
	chmod 0755 "$tmp"
	cp "$ergon" "$tmp/ergon"
	check_exit 1 "without rights" setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$tmp/ergon" stat -m msr -- true
	check "one line" says '^ergon stat: .*/dev/cpu/0/msr: Permission denied; run as root, or with CAP_SYS_RAWIO'
	mv "$tmp/root/dev/cpu/0/msr" "$tmp/root/dev/cpu/0/msr_safe"
	mv "$tmp/root/dev/cpu/4/msr" "$tmp/root/dev/cpu/4/msr_safe"
	chmod 0644 "$tmp"/root/dev/cpu/*/msr_safe
	check_exit 0 "msr_safe without rights" setpriv --reuid=65534 --regid=65534 --clear-groups \
		"$tmp/ergon" list -m msr
	check "named" grep -q 'msr_safe 0x611 cpu0' "$tmp/out"
else
	echo "not tested: rights (needs root and setpriv)"
fi

# --- Zen 2, two sockets with 8 cores of 2 threads each ---
# The three registers' addresses follow one another, in a file their bytes do as well:
# what is written to the last is also, one byte up, in the one before.
machine zen2-server
for cpu in $(seq 0 31); do
	register "$cpu" 0xc0010299 0xa1003
	register "$cpu" 0xc001029b 0x20a
done
check_exit 0 "list on AMD" "$ergon" list -m msr --json
check "a package and its cores, no dram" is "$(jq -r '.channels[] | "\(.name) \(.in_total) \(.detail)"' "$tmp/out")" \
	"package0 true msr 0xc001029b cpu0
package1 true msr 0xc001029b cpu16
core0 false register 0xc001029a of 8 cores
core1 false register 0xc001029a of 8 cores"

# Package 0 moves by 2^24 counts, 256 J, which its first core's register shows as 2^32: nothing.
# Core 1 draws 1 J, core 2 draws 2 J; their second threads' files would make it more.
cat > "$tmp/work" << END
sleep 0.5
sh "$tmp/register" 0 0xc001029b 0x100020a
sh "$tmp/register" 2 0xc001029a 0x030a10
sh "$tmp/register" 3 0xc001029a 0x090a10
sh "$tmp/register" 4 0xc001029a 0x040a10
sh "$tmp/register" 5 0xc001029a 0x090a10
END
check_exit 0 "stat on AMD" "$ergon" stat -m msr -F 0.5 --json "$tmp/json" -- sh "$tmp/work"
check "joules" is "$(jq -c '[.scope, .total_j, [.domains.package.instances[].j],
	[.domains.core.instances[].j], .flags]' "$tmp/json")" '["cpu",256,[256,0],[3,0],[]]'

# --- CPUs that are refused ---
machine granite-rapids
check_exit 1 "TPMI" "$ergon" list -m msr --json
check "unsupported" is "$(state)" unsupported
check "what to do" is "$(told)" \
	"GenuineIntel family 6 model 173 (0xad) has its energy counters in TPMI, not in MSRs; use perf or powercap (modprobe intel_rapl_tpmi)"
machine skylake-server
sed 's/\(CPUModelNumber" value="\)85/\1219/' "$machines/skylake-server/topo.xml" > "$tmp/root/topo.xml"
check_exit 1 "an unknown CPU" "$ergon" stat -m msr -- true
check "one line" says 'msr: GenuineIntel family 6 model 219 (0xdb) is not among the CPUs whose energy registers are known; use perf or powercap'

# --- a virtual machine whose registers are empty ---
machine vm-zeros
sed -i 's/\(CPUVendor" value="\)[^"]*/\1GenuineIntel/; s/\(CPUFamilyNumber" value="\)[0-9]*/\16/; s/\(CPUModelNumber" value="\)[0-9]*/\185/' "$tmp/root/topo.xml"
for cpu in 0 1 2 3 4 5 6 7; do
	register $cpu 0x639 0
done
check_exit 1 "registers full of nothing" "$ergon" list -m msr --json
check "zero" is "$(state)" zero
finish
