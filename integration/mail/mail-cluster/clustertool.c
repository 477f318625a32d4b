/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "integration/mail/mail-cluster/clustertool.h"

#include "integration/mail/base/store/remote.h"
#include "integration/mail/mail-cluster/clusterlines.h"
#include "lib/common/log.h"

#include <errno.h>
#include <stdlib.h>
#include <sysexits.h>

int clustertool_fail(const struct clustertool *tool, const char *what, int status)
{
	const char *reason = status == -EOPNOTSUPP
				     ? "the store there has no cluster, or one that cannot say this"
				     : mailstore_strerror(status);
	log_error(NULL, "%s, store=%s (%s)", what, tool->socket, reason);
	/* Of a cluster it is an object that others change; of a disk it would be something else. */
	return status == -EAGAIN ? EX_TEMPFAIL : mailstore_exit_status(status);
}

int clustertool_open(const struct clustertool *tool, unsigned usual_timeout_s,
		     struct maillayer **ret_layer)
{
	const uint64_t timeout_s = tool->timeout_s > 0 ? tool->timeout_s : usual_timeout_s;
	return remote_store_open(tool->socket, (int)(timeout_s * 1000), ret_layer);
}

int clustertool_ask(const struct clustertool *tool, enum storewire_question question,
		    unsigned usual_timeout_s, char **ret_text)
{
	struct maillayer *layer;
	char *text = NULL;
	int ret = clustertool_open(tool, usual_timeout_s, &layer);
	if (ret != 0)
		return ret;
	ret = remote_cluster(layer, question, NULL, 0, &text);
	maillayer_close(layer);
	if (ret == 0)
		ret = clusterlines_check(text);
	if (ret == 0)
		*ret_text = text;
	else
		free(text);
	return ret;
}
