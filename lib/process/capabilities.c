/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/process/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int capabilities_get(struct capabilities *ret_capabilities)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	memset(data, 0, sizeof(data));
	if (syscall(SYS_capget, &header, data) != 0)
		return -errno;
	ret_capabilities->effective = (uint64_t)data[1].effective << 32 | data[0].effective;
	ret_capabilities->permitted = (uint64_t)data[1].permitted << 32 | data[0].permitted;
	return 0;
}

int capabilities_set(const struct capabilities *capabilities)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		{ (uint32_t)capabilities->effective, (uint32_t)capabilities->permitted, 0 },
		{ (uint32_t)(capabilities->effective >> 32),
		  (uint32_t)(capabilities->permitted >> 32), 0 },
	};
	return syscall(SYS_capset, &header, data) == 0 ? 0 : -errno;
}

int capabilities_keep(uint64_t kept)
{
	struct capabilities capabilities = { 0 };
	int ret = capabilities_get(&capabilities);
	/* Of a daemon that has none, the filter of its unit may refuse the call that gives them up. */
	if (ret != 0 || capabilities.permitted == 0)
		return ret;
	kept &= capabilities.permitted;
	return capabilities_set(&(struct capabilities){ .effective = kept, .permitted = kept });
}

void capabilities_empty_bounding_set(void)
{
	for (unsigned long number = 0; number < 64; number++)
		prctl(PR_CAPBSET_DROP, number, 0ul, 0ul, 0ul);
}
