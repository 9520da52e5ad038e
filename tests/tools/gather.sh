#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `ergon gather`: the copy of a machine answers as the machine does.
set -u
ergon=$top_builddir/ergon
machines=$top_srcdir/tests/sysroots
tmp=$(mktemp -d "${TMPDIR:-/tmp}/ergon-gather-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
export LC_ALL=C ERGON_CONF=/dev/null
command -v jq >/dev/null || { echo "needs jq"; exit 77; }
failures=0

fail() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# gather DIR: exit 0 and one line
gather() {
	"$ergon" gather "$1" 2>"$tmp/err" >"$tmp/out" || fail "gather $1: exit $?: $(cat "$tmp/err")"
	[ -s "$tmp/out" ] && fail "gather printed to stdout"
	[ "$(wc -l <"$tmp/err")" = 1 ] || fail "not one line: $(cat "$tmp/err")"
}

# --- every machine we know ---
for machine in "$machines"/*/; do
	machine=${machine%/}
	name=${machine##*/}
	export ERGON_SYSROOT=$machine
	gather "$tmp/$name"
	grep -q 'answers as this machine does' "$tmp/err" || fail "$name: $(cat "$tmp/err")"
	"$ergon" list --json >"$tmp/want" 2>/dev/null
	ERGON_SYSROOT=$tmp/$name "$ergon" list --json >"$tmp/got" 2>/dev/null
	diff "$tmp/want" "$tmp/got" || fail "$name: the copy answers differently"
	[ "$(jq .answers_alike "$tmp/$name/gather.json")" = true ] || fail "$name: gather.json"
	[ -e "$tmp/$name/list-copy.json" ] && fail "$name: list-copy.json is left"
done

# --- one that is read by its registers ---
# register FILE ADDRESS BYTES: little-endian
register() {
	printf "$3" | dd of="$1" bs=1 seek=$(($2)) conv=notrunc 2>/dev/null
}
cp -R "$machines/vm-nothing" "$tmp/msr"      # a Skylake server by its topology
chmod -R u+w "$tmp/msr"
mkdir -p "$tmp/msr/dev/cpu/0"
register "$tmp/msr/dev/cpu/0/msr" 0x606 '\x03\x0e\x0a\0\0\0\0\0'
register "$tmp/msr/dev/cpu/0/msr" 0x611 '\x39\x30\0\0\0\0\0\0'
register "$tmp/msr/dev/cpu/0/msr" 0x619 '\x40\x31\0\0\0\0\0\0'
export ERGON_SYSROOT=$tmp/msr
gather "$tmp/msr-copy"
grep -q 'answers as this machine does' "$tmp/err" || fail "registers: $(cat "$tmp/err")"
[ "$(jq -r .mechanism "$tmp/msr-copy/list.json")" = msr ] || fail "registers are not read"
cmp "$tmp/msr/dev/cpu/0/msr" "$tmp/msr-copy/dev/cpu/0/msr" || fail "registers differ"

[ "$(jq -c '.registers[] | [.register, .value]' "$tmp/msr-copy/gather.json" | tr -d '\n')" = \
	'["0x606","0xa0e03"]["0x611","0x3039"]["0x619","0x3140"]' ] ||
	fail "registers are told wrongly: $(jq -c .registers "$tmp/msr-copy/gather.json")"

# --- AMD's three registers overlap in a file: each one's value is told ---
cp -R "$machines/zen2-server" "$tmp/amd"
chmod -R u+w "$tmp/amd"
mkdir -p "$tmp/amd/dev/cpu/0"
register "$tmp/amd/dev/cpu/0/msr" 0xc0010299 '\x03\x10\x0a\0\0\0\0\0\0\0'
export ERGON_SYSROOT=$tmp/amd
gather "$tmp/amd-copy"
[ "$(jq -c '.registers[] | [.register, .value]' "$tmp/amd-copy/gather.json" | tr -d '\n')" = \
	'["0xc0010299","0xa1003"]["0xc001029b","0xa"]["0xc001029a","0xa10"]' ] ||
	fail "AMD: registers are told wrongly: $(jq -c .registers "$tmp/amd-copy/gather.json")"

# --- this one ---
unset ERGON_SYSROOT
gather "$tmp/real"
[ -s "$tmp/real/topo.xml" ] || fail "no topology"
[ -s "$tmp/real/proc/stat" ] || fail "no /proc/stat"
grep -qi 'HostName\|serial\|uuid' "$tmp/real/topo.xml" && fail "the copy tells who we are"
cmp <(ERGON_SYSROOT=$tmp/real "$ergon" list -m model --json | jq .channels) \
	<("$ergon" list -m model --json | jq .channels) || fail "the model sees another machine"

# --- who may not read gets a copy that may not be read either, and a list of it ---
cp -R "$machines/laptop" "$tmp/locked"
chmod -R u+w "$tmp/locked"
chmod 0400 "$tmp"/locked/sys/class/powercap/*/energy_uj
cp "$ergon" "$tmp/ergon"
mkdir "$tmp/by-user"
chmod 0755 "$tmp"
chmod 0777 "$tmp/by-user"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	as_user() {
		setpriv --reuid=65534 --regid=65534 --clear-groups \
			env ERGON_SYSROOT="$1" "$tmp/ergon" "${@:2}"
	}
	as_user "$tmp/locked" gather "$tmp/by-user/copy" 2>"$tmp/err" || fail "as a user: exit $?"
	[ "$(jq '.unread | map(select(.path | endswith("energy_uj"))) | length' \
		"$tmp/by-user/copy/gather.json")" = 5 ] || fail "what may not be read is not told: $(cat "$tmp/by-user/copy/gather.json")"
	as_user "$tmp/by-user/copy" list --json 2>/dev/null >"$tmp/got"
	[ "$(jq -r '.mechanisms[] | select(.name == "powercap").state' "$tmp/got")" = permission ] ||
		fail "the copy does not show the missing right"
else
	echo "not tested: as an ordinary user"
fi

# --- bad calls ---
mkdir "$tmp/full"
touch "$tmp/full/x"
"$ergon" gather "$tmp/full" 2>"$tmp/err"; [ $? = 1 ] || fail "a directory in use: exit"
grep -q "$tmp/full.*not an empty directory" "$tmp/err" || fail "a directory in use: no reason"
[ "$(ls "$tmp/full")" = x ] || fail "a directory in use was written to"
mkdir -m 0777 "$tmp/open"
chmod 0777 "$tmp/open"
"$ergon" gather "$tmp/open" 2>"$tmp/err"; [ $? = 1 ] || fail "a directory of everybody: exit"
grep -q "$tmp/open: others may write" "$tmp/err" || fail "a directory of everybody: no reason"
mkdir -m 0755 "$tmp/own"
gather "$tmp/own"
"$ergon" gather "$tmp/full/x" 2>/dev/null; [ $? = 1 ] || fail "a file: exit"
"$ergon" gather "$tmp/no/such" 2>"$tmp/err"; [ $? = 1 ] || fail "no parent: exit"
grep -q "$tmp/no/such" "$tmp/err" || fail "no parent: no reason"
(ulimit -f 1; trap '' XFSZ; ERGON_SYSROOT=$top_srcdir/tests/sysroots/laptop "$ergon" gather "$tmp/small") 2>"$tmp/err"
[ $? = 1 ] || fail "no room: exit"
[ "$(cat "$tmp/err")" = "ergon gather: $tmp/small/topo.xml: No space left on device" ] ||
	fail "no room: not one line that says so: $(cat "$tmp/err")"
"$ergon" gather 2>/dev/null; [ $? = 2 ] || fail "no directory: exit"
"$ergon" gather a b 2>/dev/null; [ $? = 2 ] || fail "two directories: exit"
"$ergon" gather --nonsense 2>/dev/null; [ $? = 2 ] || fail "wrong option: exit"
"$ergon" gather --help | grep -q 'ERGON_SYSROOT=DIR' || fail "--help"

[ "$failures" = 0 ] || { echo "$failures failures"; exit 1; }
