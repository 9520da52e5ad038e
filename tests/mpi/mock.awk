# SPDX-License-Identifier: BSD-3-Clause
# calls.in -> C: with -v part=library a libmpi that records its arguments,
# with -v part=program a program that calls every function and checks them.

BEGIN { print "typedef unsigned long word;" }

/^#/ || NF == 0 { next }

function list(count, prefix,    i, text)
{
	for (i = 1; i <= count; i++)
		text = text (i > 1 ? ", " : "") prefix i
	return text
}

part == "library" {
	if (!begun++)
		print "word mock_args[32], mock_call, mock_result;"
	params = $3 ? list($3, "word a") : "void"
	printf "word P%s(%s);\nword P%s(%s)\n{\n\tmock_call = %d;\n", $1, params, $1, params, NR
	for (i = 1; i <= $3; i++)
		printf "\tmock_args[%d] = a%d;\n", i, i
	printf "\treturn mock_result;\n}\nword %s(%s) __attribute__((weak, alias(\"P%s\")));\n", $1, params, $1
}

part == "program" {
	if (!begun++)
		print "#include <stdio.h>\nextern word mock_args[32], mock_call, mock_result;\nstatic int flag, bad;\n" \
			"static word pattern(int call, int i) { return 0xa5c3000000000000ul + ((word)call << 20) + (word)i; }\n"
	printf "word %s(%s);\nstatic void call_%s(word result)\n{\n\tword rc;\n\n", $1, $3 ? list($3, "word a") : "void", $1
	printf "\tmock_call = 0;\n\tmock_result = result;\n\trc = %s(", $1
	for (i = 1; i <= $3; i++)
		printf("%s%s", i > 1 ? ", " : "", i == $6 ? "(word)&flag" : "pattern(" NR ", " i ")")
	printf ");\n\tif (rc != result || mock_call != %d) {\n\t\tbad = 1;\n\t\tprintf(\"%s: wrong function or result\\n\");\n\t}\n", NR, $1
	for (i = 1; i <= $3; i++)
		printf "\tif (mock_args[%d] != %s) {\n\t\tbad = 1;\n\t\tprintf(\"%s: argument %d changed\\n\");\n\t}\n",
			i, i == $6 ? "(word)&flag" : "pattern(" NR ", " i ")", $1, i
	print "}\n"
	name[n++] = $1
	activity[$1] = $2
}

END {
	if (part != "program")
		exit
	print "static void call_all(word result)\n{"
	for (i = 0; i < n; i++)
		if (activity[name[i]] != "startup")
			printf "\tcall_%s(result);\n", name[i]
	print "}\n\nint main(void)\n{\n\tcall_all(0);\n\tcall_all(7);\n\tcall_MPI_Init(0);"
	print "\tflag = 0;\n\tcall_all(0);\n\tflag = 1;\n\tcall_all(0);\n\tcall_all(7);"
	print "\tcall_MPI_Init_thread(7);\n\tcall_MPI_Session_init(0);\n\tcall_MPI_Session_finalize(0);"
	print "\tcall_MPI_Finalize(0);\n\tcall_all(0);\n\tcall_MPI_Abort(0);\n\tprintf(\"done\\n\");\n\treturn bad;\n}"
}
