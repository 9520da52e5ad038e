#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ergon merge: what it prints, what it finds wrong, what it exits with. Golden
# outputs are in tests/golden/merge; UPDATE_GOLDEN=1 writes them anew.
set -u
: "${top_srcdir:?}" "${top_builddir:?}"
golden=$top_srcdir/tests/golden/merge
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
failed=0
cd "$work" || exit 99

fail() {
	echo "FAIL: $*"
	failed=1
}

ergon() {
	"$top_builddir/ergon" "$@"
}

same_as_golden() { # FILE NAME
	if [ -n "${UPDATE_GOLDEN:-}" ]; then
		cp "$1" "$golden/$2"
	elif ! diff -u "$golden/$2" "$1"; then
		fail "$2 differs from the golden one"
	fi
}

exits() { # CODE COMMAND...
	want=$1
	shift
	"$@" >out 2>err
	got=$?
	[ "$got" = "$want" ] || { cat out err; fail "$*: exit $got, not $want"; }
}

fresh() { # a good result in run/: two ranks, one node
	chmod -R u+w run 2>/dev/null
	rm -rf run
	mkdir run
	cp "$golden"/two/*.csv run/
	chmod u+w run/*
}

# --- a good result, in all forms ---
fresh
exits 0 ergon merge run
[ -s err ] && fail "a good result has problems: $(cat err)"
same_as_golden out two.txt
exits 0 ergon merge run --json
same_as_golden out two.json
exits 0 ergon merge --csv run
same_as_golden out two.csv
exits 0 ergon merge --top 2 run
same_as_golden out two-top.txt
exits 0 ergon merge run --json j --csv=c
cmp -s out "$golden/two.txt" && cmp -s j "$golden/two.json" && cmp -s c "$golden/two.csv" ||
	fail "the files differ from standard output"
mkdir -p parent/ergon.1234.0
cp run/* parent/ergon.1234.0
exits 0 ergon merge parent
cmp -s out "$golden/two.txt" || fail "the parent does not stand for its one result"
mkdir -p a b
mv run/rank.w.1.csv a
mv run/rank.w.0.csv run/node.n2.csv b
exits 0 ergon merge a b
cmp -s out "$golden/two.txt" || fail "a result in two directories differs"
mkdir parent/ergon.1235.0
exits 2 ergon merge parent
grep -q 'parent holds 2 results' err || fail "ambiguous parent: $(cat err)"

# --- wrong usage ---
exits 2 ergon merge
exits 2 ergon merge --nonsense a
exits 2 ergon merge --top a
exits 2 ergon merge --top=-1 a
exits 2 ergon merge --json --csv -- a
exits 2 ergon merge nowhere
exits 2 ergon merge --json no-such-dir
[ -e no-such-dir ] && fail "a file was written for a wrong command"
exits 0 ergon merge --help
mkdir -p empty
exits 1 ergon merge empty
exits 1 ergon merge --json /nonexistent/file a b
exits 1 sh -c "'$top_builddir/ergon' merge a b >/dev/full"

# --- the malformed list: what is said about it, and that the rest is merged ---
: >problems
problem() { # CODE TITLE: run/ has been spoilt
	ergon merge run >out 2>err
	got=$?
	{
		echo "== $2: exit $got, $(sed -n 's/^ranks *//p' out)"
		cat err
	} >>problems
	[ "$got" = "$1" ] || fail "$2: exit $got, not $1"
	[ "$got" = 1 ] || ergon merge run --json 2>/dev/null | grep -q '"kind"' ||
		fail "$2: not in the JSON"
	fresh
}
rank1=run/rank.w.1.csv
spoil() { # SED-SCRIPT, on rank 1
	sed -i "$1" "$rank1"
}
cut_at() { # PATTERN: cut rank 1 in the middle of the first line that has it, after it
	LC_ALL=C awk -v p="$1" '{ i = index($0, p) } i { printf "%s", substr($0, 1, i + length(p) - 1); exit } { print }' \
		"$rank1" >"$rank1.cut" && mv "$rank1.cut" "$rank1"
}

fresh
cut_at 200.0000;                          problem 3 "cut in a number"
cut_at '"Open';                           problem 3 "cut in a quoted text"
: >$rank1;                                problem 3 "zero bytes"
sed -i '5,$d' $rank1;                     problem 3 "header only"
spoil 1d;                                 problem 3 "header not first"
cp $rank1 run/rank.w.7.csv;               problem 3 "rank twice"
spoil 's/job=1234/job=99/';               problem 3 "another job"
spoil 's/step=0/step=1/';                 problem 3 "another step"
mv $rank1 run/rank.other.1.csv;           problem 3 "another namespace"
sed 's/rank=1 size=2/rank=-1 size=-1/' $rank1 >run/rank.w.pid77.csv
                                          problem 3 "rank not known"
rm $rank1;                                problem 3 "rank missing"
spoil '1s/1$/2/';                         problem 3 "another version"
spoil '6s/\.0/,0/g';                      problem 3 "decimal comma"
spoil '6s/50\.000000000/"50,0"/';         problem 3 "decimal comma in quotes"
spoil '6s/50\.000000000/nan/';            problem 3 "NaN energy"
spoil '6s/50\.000000000/inf/';            problem 3 "infinite energy"
spoil '6s/50\.000000000/-50.0/';          problem 3 "negative energy"
spoil '3s/wall_s=10/wall_s=-10/';         problem 3 "end before start"
spoil 's/$/\r/';                          problem 3 "CR LF"
sed -i '1s/^/\xef\xbb\xbf/' $rank1;       problem 3 "byte order mark"
spoil '2s/mpi=/x=\xff mpi=/';             problem 3 "not UTF-8"
spoil '2s/host=n2/host=\xff\xfe/';        problem 3 "host that is not UTF-8"
spoil '6s/,4\.000000000//';               problem 3 "shifted columns"
spoil '8s/1000/18446744073709551616/';    problem 3 "integer past 64 bits"
spoil '8s/1000/9007199254740993/';
exits 0 ergon merge run --csv
grep -q '^main/solve,collective,MPI_Allreduce,2,9007199254741993,' out ||
	fail "integers past 2^53 are not exact"
fresh
awk 'NR == 6 { printf "%s", substr($0, 1, 20) } NR == 6 || NR == 8 { next } { print }' $rank1 >x &&
	mv x $rank1;                      problem 3 "interleaved lines"
spoil '7p';                               problem 3 "row twice"
dd if=/dev/zero bs=512 count=2 2>/dev/null >>$rank1; problem 3 "NUL bytes after the end"
cut_at main/solve; dd if=/dev/zero bs=512 count=1 2>/dev/null >>$rank1
                                          problem 3 "NUL bytes in place of the end"
cat run/rank.w.0.csv >>$rank1;            problem 3 "two writers"
cp run/node.n2.csv run/node.n2-copy.csv;  problem 3 "two files of a node"
rm run/node.n2.csv;                       problem 3 "node without a file"
: >run/node.n2.csv;                       problem 3 "node file of zero bytes"
spoil '2s/mechanism=perf/mechanism=model/'; problem 3 "two mechanisms"
spoil '2s/size=2/size=3/';                problem 3 "two sizes"
sed -i 's/size=2/size=12/' run/rank.*;    problem 3 "ten ranks missing"
spoil '8d;s/rows=4/rows=3/';              problem 3 "a row removed: conservation"
spoil 's/state=complete/state=aborted/';  problem 3 "aborted"
spoil 's/state=complete/state=noFinalize/'; problem 3 "no MPI_Finalize"
sed -i 's/,MPI_Allreduce,1000,/,MPI_Allreduce,0,/;s/,MPI_Send,4,/,MPI_Send,0,/' run/rank.*
                                          problem 0 "no MPI calls"
mkdir run/rank.w.9.csv;                   problem 3 "a directory in place of a file"
rm run/rank.*;                            problem 1 "no rank at all"
for f in run/rank.*; do : >"$f"; done;    problem 1 "nothing usable"
for i in $(seq 2 60); do printf 'x\n' >run/rank.w.$i.csv; done
                                          problem 3 "many bad files"
same_as_golden problems problems.txt

# a second program in the same step: each can be had
fresh
for i in 0 1; do sed 's/,4,/,5,/' run/rank.w.$i.csv >run/rank.w-2.$i.csv; done
exits 3 ergon merge run
grep -q 'main/solve.*MPI_Send  *1  *4 ' out || fail "not the first of two namespaces"
exits 3 ergon merge run --namespace w-2
grep -q 'main/solve.*MPI_Send  *1  *5 ' out || fail "not the namespace asked for"
exits 1 ergon merge run --namespace=nobody
exits 2 ergon merge run --namespace

# clocks of two hosts that are minutes apart: nothing compares them
fresh
sed -i '2s/host=n2 boot_id=b/host=n3 boot_id=c/;3s/12:00:00/11:47:03/' run/rank.w.1.csv
sed '2s/host=n2 boot_id=b/host=n3 boot_id=c/;3s/12:00:00/11:47:03/;/^[dpc]/s/970.5/460.0/;s/,83.05/,41.00/;/package1/d;s/rows=4/rows=3/' \
	run/node.n2.csv >run/node.n3.csv
sed -i 's/970.5/510.5/;s/,83.05/,42.05/' run/node.n2.csv
exits 0 ergon merge run
grep -q '^wall  *10.500 s' out && grep -q 'conservation  package_j .*: OK' out ||
	fail "clocks of two hosts: $(cat out err)"

# names that need quoting are only text
fresh
sed -i '2s/host=n2/host="a,b;""c"""/' run/*
exits 0 ergon merge run
grep -q '^hosts *1: a,b;"c"$' out || fail "quoted host: $(grep hosts out)"

# --- the conservation check breaks when a figure is changed, by little too ---
fresh
spoil '7s/200\.000000000/200.000010000/'
exits 3 ergon merge run
grep -q 'conservation  package_j .* differs by 0.000010000 J' out || fail "a changed figure was not found"
grep -q 'nothing in the files explains it' out || fail "a reason was invented"
exits 3 ergon merge run --json
grep -q '"ok": false' out || fail "not in the JSON"

# --- no energy, estimated energy ---
fresh
rm run/node.n2.csv
sed -i '2s/mechanism=perf/mechanism=none reason="no permission: ask your admin"/;5,$s/^\(\([^,]*,\)\{6\}\)[^,]*,[^,]*/\1,/' run/rank.*
exits 0 ergon merge run
same_as_golden out noenergy.txt
fresh
sed -i '2s/mechanism=perf/mechanism=model/' run/*
exits 0 ergon merge run
grep -q '^energy *estimated, model' out && grep -q '^total (estimated)' out ||
	fail "estimated figures do not say so"
ergon merge run --json | grep -q '"estimated": true' || fail "estimated is not in the JSON"

# --- left-over ledgers ---
mkdir killed
"$top_builddir/tests/tools/mkledger" killed || fail "mkledger"
chmod a-w killed/*
find killed -type f -exec cksum {} + | sort >before
exits 3 ergon merge killed
cat err >>out
same_as_golden out killed.txt
find killed -type f -exec cksum {} + | sort | cmp -s - before || fail "merge changed the files"
# a rank that has both: the CSV is whole, so it wins
fresh
sed 's/job=1234/job=77/;s/host=n2/host=n0/;s/boot_id=b/boot_id=b0/' run/rank.w.0.csv >killed/rank.w.0.csv
exits 3 ergon merge killed
grep -q '^main/solve' out || fail "the CSV does not win over the ledger"
grep -q 'rank 0' err && fail "a rank with CSV and ledger is called partial or twice"
# unless it is damaged
head -c 600 killed/rank.w.0.csv >x && mv x killed/rank.w.0.csv
exits 3 ergon merge killed
grep -q 'rank.w.0.csv:.* cut' err || fail "a damaged CSV was not named"
grep -q '^main/solve' out && fail "a damaged CSV was used although there is a ledger"
grep -q '^main  *collective  MPI_Barrier  *2 ' out || fail "the ledger of a damaged CSV was not used"

exit $failed
