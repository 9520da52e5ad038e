#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# pmpi/calls.in against the installed MPIs: argument counts against mpi.h,
# names against what libmpi exports; and against what our library exports.
. "$(dirname "$0")/lib.sh"

table=$work/table
awk '!/^#/ && NF { print $1, $3 }' "$top_srcdir/pmpi/calls.in" | sort >"$table"
mpi=table
check "no name twice" [ -z "$(cut -d' ' -f1 "$table" | uniq -d)" ]
check "activities are words of ledger.h" awk -v header="$top_srcdir/pmpi/ledger.h" '
	BEGIN { while ((getline line < header) > 0)
		if (line ~ /^\tX\(/ && match(line, /"[a-z0-9]+"/)) word[substr(line, RSTART + 1, RLENGTH - 2)] = 1 }
	!/^#/ && NF && !($2 in word) { print "unknown activity: " $0; bad = 1 }
	END { exit bad }' "$top_srcdir/pmpi/calls.in"
nm -D --defined-only "$lib" | awk '$3 ~ /^MPI_/ { print $3 }' | sort >"$work/ours"
check "every row is exported, nothing else" sh -c "cut -d' ' -f1 '$table' | cmp - '$work/ours'"
check "no other symbol is exported" [ -z "$(nm -D --defined-only "$lib" | awk '$3 !~ /^MPI_/ { print $3 }')" ]
check "libc is the only library needed" \
	[ "$(readelf -d "$lib" | awk '/NEEDED/ { print $NF }' | tr -d '[]' | grep -v '^libc\.so')" = "" ]
sample=$(ldd "$lib" 2>/dev/null | grep -c 'libmpi')
check "libmpi is not among what it needs" [ "$sample" = 0 ]

# Prototypes of a preprocessed mpi.h as "NAME ARGS".
prototypes() {
	sed '/^#/d' | tr '\n\t' '  ' | tr ';' '\n' | awk '
	{
		if (!match($0, /(^|[ *])MPI_[A-Z][A-Za-z0-9_]* *\(/)) next
		name = substr($0, RSTART, RLENGTH - 1)
		gsub(/[ *]/, "", name)
		depth = 1; n = 1; args = ""
		for (i = RSTART + RLENGTH; depth > 0 && i <= length($0); i++) {
			c = substr($0, i, 1)
			if (c == "(" || c == "[") depth++
			if (c == ")" || c == "]") depth--
			if (c == "," && depth == 1) n++
			if (depth > 0) args = args c
		}
		gsub(/ /, "", args)
		print name, args == "void" || args == "" ? 0 : n
	}' | sort -u
}

# Names that are local: no transfer, no wait. What an MPI exports must be here or in the table.
local_names='^MPI_(T_|Type_|Group_|Info_|Op_|Errhandler_|Error_|Add_error_|Remove_error_|Status_|Keyval_|Attr_|Grequest_|Pack|Unpack|Conversion_)
^MPI_.*_(c2f|f2c|c2f08|f082c|f2f08|f082f|fromint|toint)$
^MPI_(Comm|Win|File|Session)_(get|set|create|call|free|delete)_(errhandler|keyval|attr|name)$
^MPI_(Comm|Win)_[gs]et_info$|^MPI_(Comm|Win|File|Session)_get_(info|group)$
^MPI_(Comm_(rank|size|compare|group|remote_group|remote_size|test_inter|get_parent)|Win_shared_query(_c)?)$
^MPI_(Cart_(coords|get|map|rank|shift)|Cartdim_get|Dims_create|Graph_(get|map|neighbors|neighbors_count)|Graphdims_get|Dist_graph_neighbors(_count)?|Topo_test)$
^MPI_File_get_(amode|atomicity|byte_offset|group|info|position|type_extent(_c)?|view)$
^MPI_Session_get_(nth_pset|num_psets|pset_info)$
^MPI_(Address|Get_address|Aint_add|Aint_diff|Alloc_mem|Free_mem|Get_(count|elements)(_x|_c)?|Get_(version|library_version|processor_name|hw_resource_info))$
^MPI_(Initialized|Finalized|Is_thread_main|Query_thread|Pcontrol|Wtime|Wtick|Request_free|Test_cancelled|Reduce_local(_c)?|Register_datarep(_c)?)$
^MPI_(DUP_FN|NULL_COPY_FN|NULL_DELETE_FN|COMM_|WIN_|TYPE_|CONVERSION_|F_|F08_|.*_F90|UNWEIGHTED|WEIGHTS_EMPTY|ARGV|ERRCODES|STATUS)'
echo "$local_names" >"$work/local"

all() {
	echo '#include <mpi.h>' >"$work/header.c"
	"$mpicc" -E "$work/header.c" | prototypes >"$work/prototypes"
	check "mpi.h was understood" [ "$(wc -l <"$work/prototypes")" -gt 300 ]
	join "$table" "$work/prototypes" >"$work/common"
	check "table and mpi.h share most names" [ "$(wc -l <"$work/common")" -gt 150 ]
	check "same number of arguments" awk '$2 != $3 { print; bad = 1 } END { exit bad }' "$work/common"

	case $mpi in
	openmpi) pattern='libmpi\.so' ;;
	mpich) pattern='libmpich\.so' ;;
	esac
	echo 'int main(void) { return MPI_Init(0, 0); }' | cat "$work/header.c" - >"$work/program.c"
	"$mpicc" -o "$work/program" "$work/program.c"
	library=$(ldd "$work/program" | awk -v p="$pattern" '$1 ~ p { print $3 }')
	check "libmpi found" [ -f "$library" ]
	nm -D --defined-only "$library" | awk '$3 ~ /^MPI_/ { sub(/@.*/, "", $3); print $3 }' | sort -u >"$work/theirs"
	check "libmpi exports MPI" [ "$(wc -l <"$work/theirs")" -gt 300 ]
	cut -d' ' -f1 "$table" | comm -13 - "$work/theirs" | grep -Ev -f "$work/local" >"$work/missing"
	check "every exported call that is not local is wrapped" [ ! -s "$work/missing" ]
	cat "$work/missing"
	cut -d' ' -f1 "$table" | grep -E -f "$work/local" >"$work/both"
	check "no wrapped call is called local" [ ! -s "$work/both" ]
	cat "$work/both"
}

each_mpi all
finish
