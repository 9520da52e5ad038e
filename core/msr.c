/* SPDX-License-Identifier: BSD-3-Clause */
#include "msr.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct ergon_msr_registers intel = {
	.unit = 0x606,
	.energy = {
		[ERGON_DOMAIN_PACKAGE] = 0x611,
		[ERGON_DOMAIN_CORE] = 0x639,
		[ERGON_DOMAIN_UNCORE] = 0x641,
		[ERGON_DOMAIN_DRAM] = 0x619,
		[ERGON_DOMAIN_PLATFORM] = 0x64d,
	},
	.high_reserved = true,
};

static const struct ergon_msr_registers amd = {
	.unit = 0xc0010299,
	.energy = {
		[ERGON_DOMAIN_PACKAGE] = 0xc001029b,
		[ERGON_DOMAIN_CORE] = 0xc001029a,
	},
};

#define PKG (1u << ERGON_DOMAIN_PACKAGE)
#define CORE (1u << ERGON_DOMAIN_CORE)
#define UNCORE (1u << ERGON_DOMAIN_UNCORE)
#define RAM (1u << ERGON_DOMAIN_DRAM)
#define PSYS (1u << ERGON_DOMAIN_PLATFORM)
#define SANDY (PKG | CORE | UNCORE)
#define HASWELL (SANDY | RAM)
#define SKYLAKE (HASWELL | PSYS)
#define SERVER (PKG | CORE | RAM)

#define INTEL(model, domains, quirks) \
	{ "GenuineIntel", 6, model, model, &intel, domains, quirks }
#define AMD(family, first, last, quirks) \
	{ "AuthenticAMD", family, first, last, &amd, PKG | CORE, ERGON_MSR_EACH_CORE | (quirks) }

/*
 * Servers have a core register that reads 0 from Haswell on, and other
 * domains may be switched off: a row says what may be there.
 */
static const struct ergon_msr_cpu cpus[] = {
	/* Sandy Bridge, Ivy Bridge */
	INTEL(0x2a, SANDY, 0),
	INTEL(0x3a, SANDY, 0),
	/* Their servers */
	INTEL(0x2d, SERVER, 0),
	INTEL(0x3e, SERVER, 0),
	/* Haswell, Broadwell */
	INTEL(0x3c, HASWELL, 0),
	INTEL(0x45, HASWELL, 0),
	INTEL(0x46, HASWELL, 0),
	INTEL(0x3d, HASWELL, 0),
	INTEL(0x47, HASWELL, 0),
	/* Goldmont, Goldmont-D, Goldmont Plus; Tremont-D, Elkhart Lake, Jasper Lake */
	INTEL(0x5c, HASWELL, 0),
	INTEL(0x5f, HASWELL, 0),
	INTEL(0x7a, HASWELL, 0),
	INTEL(0x86, HASWELL, 0),
	INTEL(0x96, HASWELL, 0),
	INTEL(0x9c, HASWELL, 0),
	/* Haswell-X, Broadwell-X, Broadwell-D, Skylake-X to Cooper Lake, Ice Lake-X, Ice Lake-D */
	INTEL(0x3f, SERVER, ERGON_MSR_DRAM_FIXED),
	INTEL(0x4f, SERVER, ERGON_MSR_DRAM_FIXED),
	INTEL(0x56, SERVER, ERGON_MSR_DRAM_FIXED),
	INTEL(0x55, SERVER, ERGON_MSR_DRAM_FIXED),
	INTEL(0x6a, SERVER, ERGON_MSR_DRAM_FIXED),
	INTEL(0x6c, SERVER, ERGON_MSR_DRAM_FIXED),
	/* Knights Landing, Knights Mill */
	INTEL(0x57, PKG | RAM, ERGON_MSR_DRAM_FIXED),
	INTEL(0x85, PKG | RAM, ERGON_MSR_DRAM_FIXED),
	/* Skylake, Kaby and Coffee Lake, Cannon Lake, Ice Lake, Comet Lake, Rocket Lake, Tiger Lake */
	INTEL(0x4e, SKYLAKE, 0),
	INTEL(0x5e, SKYLAKE, 0),
	INTEL(0x8e, SKYLAKE, 0),
	INTEL(0x9e, SKYLAKE, 0),
	INTEL(0x66, SKYLAKE, 0),
	INTEL(0x7d, SKYLAKE, 0),
	INTEL(0x7e, SKYLAKE, 0),
	INTEL(0xa5, SKYLAKE, 0),
	INTEL(0xa6, SKYLAKE, 0),
	INTEL(0xa7, SKYLAKE, 0),
	INTEL(0x8c, SKYLAKE, 0),
	INTEL(0x8d, SKYLAKE, 0),
	/* Lakefield, Alder Lake, Gracemont, Raptor Lake, Meteor Lake, Arrow Lake, Lunar Lake */
	INTEL(0x8a, SKYLAKE, 0),
	INTEL(0x97, SKYLAKE, 0),
	INTEL(0x9a, SKYLAKE, 0),
	INTEL(0xbe, SKYLAKE, 0),
	INTEL(0xb7, SKYLAKE, 0),
	INTEL(0xba, SKYLAKE, 0),
	INTEL(0xbf, SKYLAKE, 0),
	INTEL(0xaa, SKYLAKE, 0),
	INTEL(0xac, SKYLAKE, 0),
	INTEL(0xb5, SKYLAKE, 0),
	INTEL(0xc5, SKYLAKE, 0),
	INTEL(0xc6, SKYLAKE, 0),
	INTEL(0xbd, SKYLAKE, 0),
	/* Sapphire Rapids, Emerald Rapids: dram in the standard unit again */
	INTEL(0x8f, SERVER | PSYS, ERGON_MSR_PSYS_JOULES),
	INTEL(0xcf, SERVER | PSYS, ERGON_MSR_PSYS_JOULES),
	/* Bay Trail, Merrifield, Cherry Trail, Moorefield */
	INTEL(0x37, PKG | CORE, ERGON_MSR_INVERTED),
	INTEL(0x4a, PKG | CORE, ERGON_MSR_INVERTED),
	INTEL(0x4c, PKG | CORE, ERGON_MSR_INVERTED),
	INTEL(0x5a, PKG | CORE, ERGON_MSR_INVERTED),
	/* Avoton: the manual says inverted, the hardware does not */
	INTEL(0x4d, PKG | CORE, 0),
	/* Granite Rapids, Sierra Forest */
	INTEL(0xad, 0, ERGON_MSR_TPMI),
	INTEL(0xaf, 0, ERGON_MSR_TPMI),
	/* Zen, Zen 2 */
	AMD(0x17, 0x00, 0x7f, 0),
	AMD(0x17, 0x90, 0x91, 0),
	AMD(0x17, 0xa0, 0xaf, 0),
	/* Zen 3, Trento among them */
	AMD(0x19, 0x00, 0x0f, 0),
	AMD(0x19, 0x20, 0x5f, 0),
	/* Zen 4 */
	AMD(0x19, 0x10, 0x1f, ERGON_MSR_WIDE),
	AMD(0x19, 0x60, 0xaf, ERGON_MSR_WIDE),
	/* Zen 5 */
	AMD(0x1a, 0x00, 0x2f, ERGON_MSR_WIDE),
	AMD(0x1a, 0x40, 0x4f, ERGON_MSR_WIDE),
	AMD(0x1a, 0x70, 0x7f, ERGON_MSR_WIDE),
	/* Dhyana */
	{ "HygonGenuine", 0x18, 0x00, 0xff, &amd, PKG | CORE, ERGON_MSR_EACH_CORE },
};

const struct ergon_msr_cpu *ergon_msr_cpu_find(const char *vendor, int family, int model)
{
	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++)
		if (cpus[i].family == family && cpus[i].first <= model && model <= cpus[i].last &&
		    strcmp(cpus[i].vendor, vendor) == 0)
			return &cpus[i];
	return NULL;
}

double ergon_msr_unit_j(const struct ergon_msr_cpu *cpu, enum ergon_domain domain, uint64_t units)
{
	int esu = (int)(units >> 8 & 0x1f);

	if (domain == ERGON_DOMAIN_DRAM && cpu->quirks & ERGON_MSR_DRAM_FIXED)
		return 0x1p-16;
	if (domain == ERGON_DOMAIN_PLATFORM && cpu->quirks & ERGON_MSR_PSYS_JOULES)
		return 1;
	return cpu->quirks & ERGON_MSR_INVERTED ? ldexp(1e-6, esu) : ldexp(1, -esu);
}

bool ergon_msr_is_wide(const struct ergon_msr_cpu *cpu, uint64_t value)
{
	if (cpu->registers->high_reserved)
		return false;
	return cpu->quirks & ERGON_MSR_WIDE || value > UINT32_MAX;
}
