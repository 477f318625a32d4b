# SPDX-License-Identifier: BSD-2-Clause
#
# symbols.awk - a linker's version script out of a list of symbols.
#
# A line " NAME@NODE VERSION" of the list, which is Debian's (deb-symbols(5)), puts NAME into NODE;
# " NODE@NODE VERSION" is there for dpkg alone. What the list does not have is hidden.
/^ / {
	split($1, part, "@")
	if (part[1] == part[2])
		next
	if (part[2] !~ /^DNSBLV6_/) {
		print FILENAME ": " $1 ": a version is DNSBLV6_ and numbers" >"/dev/stderr"
		exit 1
	}
	if (!(part[2] in names))
		nodes[++count] = part[2]
	names[part[2]] = names[part[2]] "\t" part[1] ";\n"
}
END {
	for (i = 1; i <= count; i++)
		printf "%s {\nglobal:\n%s%s};\n", nodes[i], names[nodes[i]], i == 1 ? "local:\n\t*;\n" : ""
}
