/* SPDX-License-Identifier: BSD-3-Clause */
#include "pci.h"

#include <ctype.h>
#include <stdio.h>

/* One hexadecimal field of at most `digits` digits, ended by `end`. */
static bool field(const char **p, int digits, char end, unsigned *value)
{
	int n = 0;

	for (*value = 0; n < digits && isxdigit((unsigned char)**p); n++, ++*p) {
		int c = tolower((unsigned char)**p);

		*value = *value << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	if (n == 0 || **p != end)
		return false;
	*p += end != '\0';
	return true;
}

bool ergon_pci_parse(const char *text, struct ergon_pci *out)
{
	struct ergon_pci pci;

	if (!field(&text, 8, ':', &pci.domain) || !field(&text, 2, ':', &pci.bus) ||
	    !field(&text, 2, '.', &pci.device) || !field(&text, 1, '\0', &pci.function))
		return false;
	*out = pci;
	return true;
}

char *ergon_pci_format(const struct ergon_pci *pci, char *buf, size_t size)
{
	snprintf(buf, size, "%04x:%02x:%02x.%x", pci->domain, pci->bus, pci->device, pci->function);
	return buf;
}

int ergon_pci_compare(const struct ergon_pci *a, const struct ergon_pci *b)
{
	if (a->domain != b->domain)
		return a->domain < b->domain ? -1 : 1;
	if (a->bus != b->bus)
		return a->bus < b->bus ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return (a->function > b->function) - (a->function < b->function);
}
