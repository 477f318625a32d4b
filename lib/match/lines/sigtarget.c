/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lib/match/lines/sigtarget.h"

#include <string.h>

#include "lib/content/kind.h"
#include "lib/format/ascii.h"

#define BIT(kind) (UINT64_C(1) << (kind))

/* By number; ClamAV's cli_mtargets. */
static const struct {
	uint64_t kinds;
	enum compile_reason reason;
} targets[] = {
	{ UINT64_MAX, COMPILE_STREAMS },
	{ BIT(CONTENT_PE), COMPILE_STREAMS },
	{ BIT(CONTENT_OLE), COMPILE_STREAMS },
	{ BIT(CONTENT_HTML), COMPILE_NORMALISED },
	{ BIT(CONTENT_MAIL), COMPILE_STREAMS },
	{ BIT(CONTENT_GRAPHICS), COMPILE_STREAMS },
	{ BIT(CONTENT_ELF), COMPILE_STREAMS },
	{ BIT(CONTENT_TEXT), COMPILE_NORMALISED },
	{ 0, COMPILE_ATTRIBUTE }, /* not in use */
	{ BIT(CONTENT_MACHO), COMPILE_STREAMS },
	{ BIT(CONTENT_PDF), COMPILE_STREAMS },
	{ BIT(CONTENT_SWF), COMPILE_STREAMS },
	{ BIT(CONTENT_JAVA), COMPILE_STREAMS },
	{ 0, COMPILE_ATTRIBUTE }, /* "internal" */
	{ 0, COMPILE_ATTRIBUTE }, /* "other" */
};

static const struct {
	const char *name;
	uint64_t kinds;
} containers[] = {
	{ "CL_TYPE_ANY", UINT64_C(1) << CONTENT_OTHER }, /* of nothing */
	{ "CL_TYPE_ZIP", BIT(CONTENT_ZIP) },
	{ "CL_TYPE_ZIPSFX", BIT(CONTENT_ZIP) },
	{ "CL_TYPE_OOXML_WORD", BIT(CONTENT_ZIP) },
	{ "CL_TYPE_OOXML_PPT", BIT(CONTENT_ZIP) },
	{ "CL_TYPE_OOXML_XL", BIT(CONTENT_ZIP) },
	{ "CL_TYPE_OOXML_HWP", BIT(CONTENT_ZIP) },
	{ "CL_TYPE_RAR", BIT(CONTENT_RAR) },
	{ "CL_TYPE_RARSFX", BIT(CONTENT_RAR) },
	{ "CL_TYPE_7Z", BIT(CONTENT_7Z) },
	{ "CL_TYPE_7ZSFX", BIT(CONTENT_7Z) },
	{ "CL_TYPE_GZ", BIT(CONTENT_GZIP) },
	{ "CL_TYPE_BZ", BIT(CONTENT_BZIP2) },
	{ "CL_TYPE_XZ", BIT(CONTENT_XZ) },
	{ "CL_TYPE_POSIX_TAR", BIT(CONTENT_TAR) },
	{ "CL_TYPE_OLD_TAR", BIT(CONTENT_TAR) },
	{ "CL_TYPE_CPIO_OLD", BIT(CONTENT_CPIO) },
	{ "CL_TYPE_CPIO_ODC", BIT(CONTENT_CPIO) },
	{ "CL_TYPE_CPIO_NEWC", BIT(CONTENT_CPIO) },
	{ "CL_TYPE_CPIO_CRC", BIT(CONTENT_CPIO) },
	{ "CL_TYPE_ARJ", BIT(CONTENT_ARJ) },
	{ "CL_TYPE_ARJSFX", BIT(CONTENT_ARJ) },
	{ "CL_TYPE_LHA_LZH", BIT(CONTENT_LHA) },
	{ "CL_TYPE_MSCAB", BIT(CONTENT_CAB) },
	{ "CL_TYPE_CABSFX", BIT(CONTENT_CAB) },
	{ "CL_TYPE_ISO9660", BIT(CONTENT_ISO9660) },
	{ "CL_TYPE_XAR", BIT(CONTENT_XAR) },
	{ "CL_TYPE_MSCHM", BIT(CONTENT_CHM) },
	{ "CL_TYPE_MSOLE2", BIT(CONTENT_OLE) },
	{ "CL_TYPE_MSEXE", BIT(CONTENT_PE) },
	{ "CL_TYPE_ELF", BIT(CONTENT_ELF) },
	{ "CL_TYPE_MACHO", BIT(CONTENT_MACHO) },
	{ "CL_TYPE_MAIL", BIT(CONTENT_MAIL) },
	{ "CL_TYPE_TNEF", BIT(CONTENT_TNEF) },
	{ "CL_TYPE_PDF", BIT(CONTENT_PDF) },
	{ "CL_TYPE_ONENOTE", BIT(CONTENT_ONENOTE) },
	{ "CL_TYPE_RTF", BIT(CONTENT_RTF) },
	{ "CL_TYPE_HTML", BIT(CONTENT_HTML) },
	{ "CL_TYPE_SWF", BIT(CONTENT_SWF) },
	{ "CL_TYPE_JAVA", BIT(CONTENT_JAVA) },
	{ "CL_TYPE_GRAPHICS", BIT(CONTENT_GRAPHICS) },
};

void sigtarget_any(struct sigtarget *ret_target)
{
	memset(ret_target, 0, sizeof(*ret_target));
	ret_target->kinds = UINT64_MAX;
	ret_target->containers = UINT64_MAX;
	ret_target->reason = COMPILE_STREAMS;
}

const char *sigtarget_decimal(const char *text, uint32_t *ret_number)
{
	const int64_t number = ascii_number(text, strlen(text), UINT32_MAX - 1);
	if (number < 0)
		return "not a number";
	*ret_number = (uint32_t)number;
	return NULL;
}

const char *sigtarget_number(const char *text, struct sigtarget *target)
{
	uint32_t number = 0;
	if (sigtarget_decimal(text, &number) != NULL)
		return "the target is no number";
	if (number >= sizeof(targets) / sizeof(targets[0]))
		return "the target is none that is known";
	target->kinds = targets[number].kinds;
	if (targets[number].reason != COMPILE_STREAMS)
		target->reason = targets[number].reason;
	return NULL;
}

/* The most of a range is at times larger than any file. */
static const char *read_limit(const char *text, uint32_t *ret_number)
{
	const size_t digits = strspn(text, "0123456789");
	*ret_number = UINT32_MAX - 1;
	return digits >= 10 && text[digits] == '\0' ? NULL : sigtarget_decimal(text, ret_number);
}

/* "3-7", or one number for both. */
static const char *read_range(char *text, struct sigtarget_range *ret_range)
{
	char *dash = strchr(text, '-');
	if (dash != NULL)
		*dash = '\0';
	const char *why = sigtarget_decimal(text, &ret_range->min);
	ret_range->max = ret_range->min;
	if (why == NULL && dash != NULL)
		why = read_limit(dash + 1, &ret_range->max);
	ret_range->is_set = true;
	return why == NULL ? NULL : "an attribute's range is none";
}

static const char *read_container(const char *name, struct sigtarget *target)
{
	for (size_t i = 0; i < sizeof(containers) / sizeof(containers[0]); i++) {
		if (strcmp(containers[i].name, name) == 0) {
			target->containers = containers[i].kinds;
			return NULL;
		}
	}
	if (strncmp(name, "CL_TYPE_", 8) != 0)
		return "a container is no CL_TYPE_";
	target->reason = COMPILE_ATTRIBUTE;
	return NULL;
}

static const char *read_attribute(const char *name, char *value, struct sigtarget *target)
{
	struct sigtarget_range level = { .is_set = false };
	if (strcmp(name, "Target") == 0)
		return sigtarget_number(value, target);
	if (strcmp(name, "FileSize") == 0)
		return read_range(value, &target->file_size);
	if (strcmp(name, "EntryPoint") == 0)
		return read_range(value, &target->entry_point);
	if (strcmp(name, "NumberOfSections") == 0)
		return read_range(value, &target->sections);
	if (strcmp(name, "Container") == 0)
		return read_container(value, target);
	if (strcmp(name, "Engine") == 0) {
		const char *why = read_range(value, &level);
		if (why == NULL && (level.min > SIGTARGET_LEVEL || level.max < SIGTARGET_LEVEL))
			target->reason = COMPILE_ENGINE;
		return why;
	}
	if (strcmp(name, "IconGroup1") != 0 && strcmp(name, "IconGroup2") != 0 &&
	    strcmp(name, "HandlerType") != 0 && strcmp(name, "Intermediates") != 0)
		return "an attribute is none that is known";
	target->reason = COMPILE_ATTRIBUTE;
	return NULL;
}

const char *sigtarget_attributes(char *text, struct sigtarget *ret_target)
{
	bool has_target = false;
	sigtarget_any(ret_target);
	while (text != NULL) {
		char *comma = strchr(text, ',');
		if (comma != NULL)
			*comma = '\0';
		char *colon = strchr(text, ':');
		if (colon == NULL)
			return "an attribute has no value";
		*colon = '\0';
		has_target = has_target || strcmp(text, "Target") == 0;
		const char *why = read_attribute(text, colon + 1, ret_target);
		if (why != NULL)
			return why;
		text = comma != NULL ? comma + 1 : NULL;
	}
	return has_target ? NULL : "there is no Target";
}
