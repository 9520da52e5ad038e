/* SPDX-License-Identifier: BSD-3-Clause */
/* PCI addresses as the kernel writes them: "0000:41:00.0", all hexadecimal. */
#ifndef ERGON_PCI_H
#define ERGON_PCI_H

#include <stdbool.h>
#include <stddef.h>

struct ergon_pci {
	unsigned domain, bus, device, function;
};

/* False when text is not an address, the domain with up to 8 digits; *out is untouched then. */
bool ergon_pci_parse(const char *text, struct ergon_pci *out);

/* "0000:41:00.0" into buf, cut to size. Returns buf. */
char *ergon_pci_format(const struct ergon_pci *pci, char *buf, size_t size);

/* Order on the bus: negative, 0, positive. */
int ergon_pci_compare(const struct ergon_pci *a, const struct ergon_pci *b);

#endif
