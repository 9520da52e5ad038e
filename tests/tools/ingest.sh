#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# ergon ingest: every record exactly once, whatever happens to it or to the files.
set -u
ergon=$top_builddir/ergon
make_journal=$top_builddir/tests/tools/journal_make
[ -x "$make_journal" ] || { echo "built without SQLite"; exit 77; }
unset ERGON_CONF ERGON_ACCT_FORMAT ERGON_DEBUG

dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
failures=0

fail() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# site NAME: an empty spool and a configuration of its own; sets $site
site() {
	site=$dir/$1
	mkdir "$site"
	mkdir -m 0700 "$site/spool"
	printf 'SpoolDir = %s/spool\nStore = sqlite:%s/db/ergon.db\n' "$site" "$site" >"$site/conf"
}

ingest() {
	"$ergon" ingest --config "$site/conf" "$@" 2>>"$site/log"
}

# Sum over all steps: rows and whole joules.
sums() {
	"$ergon" acct --config "$site/conf" -a -S 1970-01-01 -P -n -o jobid,consumedenergyraw |
		awk -F'|' '$1 ~ /\./ { n++; sum += $2 } END { print n + 0, sum + 0 }'
}

expect_sums() {
	local got
	got=$(sums)
	[ "$got" = "$2" ] || fail "$1: expected '$2' rows and joules, got '$got'"
}

# --- once, twice, and what is appended
site plain
"$make_journal" --many 600 >"$site/spool/n1.journal"
ingest || fail "first run: exit $?"
expect_sums "first run" "300 420000"
ingest || fail "second run: exit $?"
expect_sums "second run" "300 420000"
"$make_journal" --many 60 10001 >>"$site/spool/n1.journal"
ingest || fail "third run: exit $?"
expect_sums "appended" "330 462000"
grep -q 'journals: 60 records stored, 0 known' "$site/log" || fail "read more than was appended"
[ "$(wc -l <"$site/log")" = 3 ] || fail "not one summary line a run"
[ "$(stat -c %a "$site/db/ergon.db")" = 640 ] || fail "mode of the database"
ingest --quiet && [ "$(wc -l <"$site/log")" = 3 ] || fail "--quiet printed"

# --- a torn last line waits for its end
site torn
"$make_journal" --many 4 >"$site/all"
head -c -20 "$site/all" >"$site/spool/n1.journal"
ingest || fail "torn line: exit $?"
expect_sums "torn" "2 2100"
tail -c 20 "$site/all" >>"$site/spool/n1.journal"
ingest || fail "torn line completed: exit $?"
expect_sums "completed" "2 2800"

# --- a torn line that the next writer cut off with an LF goes to quarantine
site cut
{ head -c 500 "$dir/torn/all"; echo; cat "$dir/torn/all"; } >"$site/spool/n1.journal"
ingest; [ $? = 3 ] || fail "cut line: not exit 3"
expect_sums "cut" "2 2800"
quarantine=$site/db/ergon.db.quarantine
[ "$(wc -l <"$quarantine")" = 1 ] || fail "not one line in quarantine"
grep -q "^$site/spool/n1.journal	0	no checksum: the line is torn	{" "$quarantine" ||
	fail "quarantine does not name file, offset and reason"

# --- bad lines of every kind; good ones between them are stored
site bad
line=$("$make_journal" --many 1)
{
	"$make_journal" --many 2 50
	echo "${line/perf/perg}"
	printf 'garbage\n\n'
	printf '%s\t00000000\n' '{}'
	echo 'job=0' | "$make_journal"
	echo 'job=7 end_ns=5' | "$make_journal"
	printf 'a\0b\t12345678\n'
	head -c 70000 /dev/zero | tr '\0' x
	echo
	"$make_journal" --many 2 60
} >"$site/spool/n1.journal"
ingest; [ $? = 3 ] || fail "bad lines: not exit 3"
expect_sums "bad" "2 2800"
cut -f 3 "$site/db/ergon.db.quarantine" >"$site/reasons"
cat >"$site/expected" <<-EOF
	checksum does not match
	no checksum: the line is torn
	checksum does not match
	job: 0 is not in 1..4294967295
	end_ns: before start_ns
	checksum does not match
	longer than a journal line can be
EOF
diff "$site/expected" "$site/reasons" || fail "reasons in quarantine"
LC_ALL=C grep -q '[^[:print:][:space:]]' "$site/db/ergon.db.quarantine" && fail "quarantine is not text"
ingest || fail "bad lines again: exit $?"
[ "$(wc -l <"$site/db/ergon.db.quarantine")" = 7 ] || fail "quarantined twice"
echo junk >>"$site/spool/n1.journal"
rm "$site/db/ergon.db.quarantine"
ingest; [ "$(wc -l <"$site/db/ergon.db.quarantine")" = 1 ] || fail "new quarantine file"

# --- 9 MiB without an end of line do not stop the rest
site long
{ head -c 9437184 /dev/zero | tr '\0' x; echo; "$make_journal" --many 2; } >"$site/spool/n1.journal"
ingest; [ $? = 3 ] || fail "endless line: not exit 3"
expect_sums "endless line" "1 1400"

# --- replaced, truncated, rewritten in place, copied
site moved
journal=$site/spool/n1.journal
"$make_journal" --many 60 >"$journal"
ingest
mv "$journal" "$site/old"
"$make_journal" --many 120 1000 >"$journal"
ingest
expect_sums "replaced by a longer one" "90 126000"
: >"$journal"
ingest || fail "emptied: exit $?"
"$make_journal" --many 6 2000 >"$journal"
ingest
expect_sums "truncated" "93 130200"
"$make_journal" --many 600 3000 >"$site/new"
cat "$site/new" >"$journal"       # same inode, longer than before
ingest
expect_sums "rewritten in place" "393 550200"
: >"$site/log"
cp "$journal" "$site/copy"
mv "$site/copy" "$journal"        # as rsync does
ingest
grep -q ' 0 records stored, 0 known' "$site/log" || fail "a copy was read again"
ingest "$site/old" || fail "a file by name: exit $?"
expect_sums "old file by name" "393 550200"

# --- the better record wins, in any order; the same in two files counts once
site better
cat >"$site/spec" <<-EOF
	job=1 state=running end_ns=1796083203000000000 job_uj=3000000
	job=1 state=partial end_ns=1796083204000000000 job_uj=4000000
	job=1 job_uj=10000000
	job=1 state=partial end_ns=1796083299000000000 job_uj=99000000
	job=2 job_uj=10000000
	job=2 state=running end_ns=1796083299000000000 job_uj=99000000
EOF
"$make_journal" <"$site/spec" >"$site/spool/n1.journal"
tac "$site/spool/n1.journal" >"$site/spool/n2.journal"
ingest || fail "better: exit $?"
expect_sums "better" "2 20"

# --- what a dead slurmstepd left
site dead
json=$(echo 'job=9 state=partial flags=partial job_uj=5000000' | "$make_journal" | cut -f 1)
"$make_journal" --many 2 >"$site/spool/n1.journal"
printf '%s' "$json" | "$make_journal" --checkpoint >"$site/spool/host.9.0.0.ckpt"
chmod 600 "$site/spool/"*
ingest || fail "checkpoint: exit $? ($(tail -1 "$site/log"))"
expect_sums "checkpoint" "2 1405"
[ -e "$site/spool/host.9.0.0.ckpt" ] && fail "the checkpoint is still there"
[ "$("$ergon" acct --config "$site/conf" -j 9.0 -P -n -o state,flags)" = "PARTIAL|partial" ] ||
	fail "the checkpoint's record is not marked"

# --- many nodes, two at a time
site many
for node in 1 2 3 4 5 6 7 8; do
	"$make_journal" --many 6000 $((node * 10000)) >"$site/spool/n$node.journal"
done
pids=
for i in 1 2 3; do
	ingest & pids="$pids $!"
done
for pid in $pids; do
	wait "$pid" || fail "one of three at once: exit $?"
done
expect_sums "three at once" "24000 33600000"
stored=$(sed -n 's/.* \([0-9]*\) records stored.*/\1/p' "$site/log" | awk '{ n += $1 } END { print n }')
[ "$stored" = 48000 ] || fail "three at once stored $stored of 48000"

# --- the first run of several at once: each may be the one that makes the store
site first
"$make_journal" --many 60 >"$site/spool/n1.journal"
for round in $(seq 40); do
	rm -rf "$site/db"
	pids=
	for i in 1 2 3 4 5 6; do
		ingest --quiet & pids="$pids $!"
	done
	for pid in $pids; do
		wait "$pid" || fail "one of six that make the store: exit $? ($(tail -1 "$site/log"))"
	done
done
expect_sums "made by six at once" "30 42000"

# --- killed at any point, then run again: the same sums and one quarantine line each
site killed
for node in 1 2 3 4 5 6; do
	"$make_journal" --many 20000 $((node * 10000)) >"$site/spool/n$node.journal"
	echo "bad line $node" >>"$site/spool/n$node.journal"
done
kills=0
for i in $(seq 1 25); do
	ingest --quiet & pid=$!
	sleep "0.$((RANDOM % 4))$((RANDOM % 10))"
	kill -9 "$pid" 2>/dev/null && kills=$((kills + 1))
	wait "$pid" 2>/dev/null
done
[ "$kills" -gt 0 ] || fail "no run was alive when it was to be killed"
ingest
echo "$kills runs killed"
expect_sums "after $kills kills" "60000 84000000"
[ "$(sort "$site/db/ergon.db.quarantine" | cut -f 4 | uniq | wc -l)" = 6 ] &&
	[ "$(wc -l <"$site/db/ergon.db.quarantine")" = 6 ] || fail "quarantine after kills"

# --- before the first step: nothing to do, nothing made
site early
rmdir "$site/spool"
ingest || fail "no spool yet: exit"
grep -q "no $site/spool: no step has been measured" "$site/log" || fail "no spool yet: no reason"
[ ! -e "$site/db" ] || fail "no spool yet: a store was made"
[ -z "$("$ergon" ingest --config "$site/conf" --quiet 2>&1)" ] || fail "no spool yet: not quiet"

# --- clear words when it cannot be done
site wrong
"$ergon" ingest --config "$site/none" 2>"$site/err"; [ $? = 1 ] || fail "missing configuration: exit"
"$ergon" ingest --nonsense 2>/dev/null; [ $? = 2 ] || fail "wrong option: exit"
ingest "$site/nowhere"; [ $? = 1 ] || fail "missing file: exit"
grep -q "$site/nowhere: No such file" "$site/log" || fail "missing file: no reason"
mkfifo "$site/spool/pipe.journal"
"$make_journal" --many 2 >"$site/spool/zz.journal"
timeout 20 "$ergon" ingest --config "$site/conf" 2>"$site/err"
[ $? = 1 ] || fail "FIFO: exit"
grep -q "not a regular file" "$site/err" || fail "FIFO: no reason"
expect_sums "after a FIFO" "1 1400"
rm "$site/spool/pipe.journal"

printf 'Store = mysql://db/x\n' >"$site/conf2"
"$ergon" ingest --config "$site/conf2" 2>"$site/err"; [ $? = 1 ] || fail "unknown store: exit"
grep -q 'sqlite:FILE' "$site/err" || fail "unknown store: no reason"
printf 'SpoolDir = %s/spool\nStore = sqlite:%s/text\n' "$site" "$site" >"$site/conf2"
seq 1000 >"$site/text"
"$ergon" ingest --config "$site/conf2" 2>"$site/err"; [ $? = 1 ] || fail "not a database: exit"
grep -q 'not a database' "$site/err" || fail "not a database: no reason"

# A full disk, as far as a test may make one: files may not grow.
site narrow
"$make_journal" --many 20000 >"$site/spool/n1.journal"
"$make_journal" --many 2 >"$site/small"
ingest "$site/small"
(trap '' XFSZ; ulimit -f 200; ingest); [ $? = 1 ] || fail "full: not exit 1"
grep -q 'full' "$site/log" || fail "full: no reason ($(tail -1 "$site/log"))"
ingest || fail "after full: exit $?"
expect_sums "after full" "10000 14000000"

# A store that somebody holds.
if command -v sqlite3 >/dev/null; then
	site held
	"$make_journal" --many 2 >"$site/spool/n1.journal"
	ingest
	"$make_journal" --many 2 50 >>"$site/spool/n1.journal"
	mkfifo "$site/talk"
	sqlite3 "$site/db/ergon.db" <"$site/talk" & holder=$!
	exec 8>"$site/talk"
	echo 'BEGIN IMMEDIATE;' >&8
	sleep 1
	ingest; [ $? = 1 ] || fail "held store: not exit 1"
	grep -q 'locked.*try again' "$site/log" || fail "held store: no reason"
	exec 8>&-
	wait "$holder"
	ingest || fail "released store: exit $?"
	expect_sums "released store" "2 2800"
fi

[ "$failures" = 0 ] || { echo "$failures failures"; exit 1; }
