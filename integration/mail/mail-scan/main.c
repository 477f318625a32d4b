/* SPDX-License-Identifier: GPL-3.0-or-later */

/*
 * mail-scan - files, or a mail, against signatures. The program's own text is mail-scan.1.
 */

#include "integration/mail/mail-scan/tool.h"

#include <string.h>

#include "lib/common/options.h"

int main(int argc, char **argv)
{
	options_settle_process();
	if (argc > 1 && strcmp(argv[1], "compile") == 0)
		return compile_command(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "info") == 0)
		return info_command(argc - 1, argv + 1);
	return scan_command(argc, argv);
}
