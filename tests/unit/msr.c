/* SPDX-License-Identifier: BSD-3-Clause */
/* Every row of what is known of RAPL registers, written out as a number. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "msr.h"

/* Power 1/8 W, time 1/1024 s, as hardware has it. */
#define UNITS(esu) (0xa0003u | (uint64_t)(esu) << 8)

/* A letter per domain. */
static const struct {
	char letter;
	enum ergon_domain domain;
} letters[] = {
	{ 'p', ERGON_DOMAIN_PACKAGE },
	{ 'c', ERGON_DOMAIN_CORE },
	{ 'u', ERGON_DOMAIN_UNCORE },
	{ 'd', ERGON_DOMAIN_DRAM },
	{ 's', ERGON_DOMAIN_PLATFORM },
};

#define NLETTERS (sizeof(letters) / sizeof(letters[0]))

struct expected {
	int model;
	int esu;                  /* what such a CPU's unit register says */
	const char *domains;
	double package_uj;        /* per count */
	double dram_uj;
	double psys_uj;
};

#define ESU14 61.03515625
#define ESU16 15.2587890625

static const struct expected intel[] = {
	{ 0x2a, 16, "pcu", ESU16, 0, 0 },
	{ 0x3a, 16, "pcu", ESU16, 0, 0 },
	{ 0x2d, 16, "pcd", ESU16, ESU16, 0 },
	{ 0x3e, 16, "pcd", ESU16, ESU16, 0 },
	{ 0x3c, 14, "pcud", ESU14, ESU14, 0 },
	{ 0x45, 14, "pcud", ESU14, ESU14, 0 },
	{ 0x46, 14, "pcud", ESU14, ESU14, 0 },
	{ 0x3d, 14, "pcud", ESU14, ESU14, 0 },
	{ 0x47, 14, "pcud", ESU14, ESU14, 0 },
	{ 0x5c, 14, "pcud", ESU14, ESU14, 0 },
	{ 0x5f, 14, "pcud", ESU14, ESU14, 0 },
	{ 0x7a, 14, "pcud", ESU14, ESU14, 0 },
	{ 0x86, 14, "pcud", ESU14, ESU14, 0 },
	{ 0x96, 14, "pcud", ESU14, ESU14, 0 },
	{ 0x9c, 14, "pcud", ESU14, ESU14, 0 },
	{ 0x3f, 14, "pcd", ESU14, ESU16, 0 },
	{ 0x4f, 14, "pcd", ESU14, ESU16, 0 },
	{ 0x56, 14, "pcd", ESU14, ESU16, 0 },
	{ 0x55, 14, "pcd", ESU14, ESU16, 0 },
	{ 0x6a, 14, "pcd", ESU14, ESU16, 0 },
	{ 0x6c, 14, "pcd", ESU14, ESU16, 0 },
	{ 0x57, 14, "pd", ESU14, ESU16, 0 },
	{ 0x85, 14, "pd", ESU14, ESU16, 0 },
	{ 0x4e, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0x5e, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0x8e, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0x9e, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0x66, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0x7d, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0x7e, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0xa5, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0xa6, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0xa7, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0x8c, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0x8d, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0x8a, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0x97, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0x9a, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0xbe, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0xb7, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0xba, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0xbf, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0xaa, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0xac, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0xb5, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0xc5, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0xc6, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0xbd, 14, "pcuds", ESU14, ESU14, ESU14 },
	{ 0x8f, 14, "pcds", ESU14, ESU14, 1e6 },
	{ 0xcf, 14, "pcds", ESU14, ESU14, 1e6 },
	{ 0x37, 5, "pc", 32, 0, 0 },
	{ 0x4a, 5, "pc", 32, 0, 0 },
	{ 0x4c, 5, "pc", 32, 0, 0 },
	{ 0x5a, 5, "pc", 32, 0, 0 },
	{ 0x4d, 16, "pc", ESU16, 0, 0 },
};

static void assert_uj(const struct ergon_msr_cpu *cpu, enum ergon_domain domain, int esu, double uj)
{
	double unit = ergon_msr_unit_j(cpu, domain, UNITS(esu));

	/* Powers of two are exact; microjoules of an Atom are not. */
	assert_true(fabs(unit * 1e6 - uj) <= uj * 1e-15);
}

static unsigned bits_of(const char *word)
{
	unsigned bits = 0;

	for (size_t i = 0; i < NLETTERS; i++)
		if (strchr(word, letters[i].letter))
			bits |= 1u << letters[i].domain;
	return bits;
}

static void intel_models(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(intel) / sizeof(intel[0]); i++) {
		const struct expected *want = &intel[i];
		const struct ergon_msr_cpu *cpu = ergon_msr_cpu_find("GenuineIntel", 6, want->model);

		assert_non_null(cpu);
		assert_int_equal(cpu->domains, bits_of(want->domains));
		assert_false(cpu->quirks & (ERGON_MSR_TPMI | ERGON_MSR_EACH_CORE));
		assert_uj(cpu, ERGON_DOMAIN_PACKAGE, want->esu, want->package_uj);
		assert_uj(cpu, ERGON_DOMAIN_CORE, want->esu, want->package_uj);
		if (strchr(want->domains, 'd'))
			assert_uj(cpu, ERGON_DOMAIN_DRAM, want->esu, want->dram_uj);
		if (strchr(want->domains, 's'))
			assert_uj(cpu, ERGON_DOMAIN_PLATFORM, want->esu, want->psys_uj);
		assert_int_equal(cpu->registers->unit, 0x606);
		/* The upper half is reserved, whatever is in it. */
		assert_false(ergon_msr_is_wide(cpu, UINT64_MAX));
	}
}

static void intel_registers(void **state)
{
	static const uint32_t addresses[] = { 0x611, 0x639, 0x641, 0x619, 0x64d };
	const struct ergon_msr_cpu *cpu = ergon_msr_cpu_find("GenuineIntel", 6, 0x9e);

	(void)state;
	for (size_t i = 0; i < NLETTERS; i++)
		assert_int_equal(cpu->registers->energy[letters[i].domain], addresses[i]);
}

static void amd_models(void **state)
{
	static const struct {
		const char *vendor;
		int family, model;
		bool wide;
	} rows[] = {
		{ "AuthenticAMD", 0x17, 0x01, false }, /* Naples, Threadripper 1950X */
		{ "AuthenticAMD", 0x17, 0x08, false },
		{ "AuthenticAMD", 0x17, 0x11, false },
		{ "AuthenticAMD", 0x17, 0x18, false },
		{ "AuthenticAMD", 0x17, 0x20, false },
		{ "AuthenticAMD", 0x17, 0x31, false }, /* Rome */
		{ "AuthenticAMD", 0x17, 0x60, false },
		{ "AuthenticAMD", 0x17, 0x71, false },
		{ "AuthenticAMD", 0x19, 0x01, false }, /* Milan */
		{ "AuthenticAMD", 0x19, 0x21, false },
		{ "AuthenticAMD", 0x19, 0x30, false }, /* Trento */
		{ "AuthenticAMD", 0x19, 0x50, false },
		{ "AuthenticAMD", 0x19, 0x10, true }, /* Genoa */
		{ "AuthenticAMD", 0x19, 0x11, true },
		{ "AuthenticAMD", 0x19, 0x1f, true },
		{ "AuthenticAMD", 0x19, 0x61, true },
		{ "AuthenticAMD", 0x19, 0x74, true },
		{ "AuthenticAMD", 0x19, 0x75, true },
		{ "AuthenticAMD", 0x19, 0x90, true }, /* MI300A */
		{ "AuthenticAMD", 0x19, 0xa0, true }, /* Bergamo */
		{ "AuthenticAMD", 0x1a, 0x02, true },
		{ "AuthenticAMD", 0x1a, 0x11, true },
		{ "HygonGenuine", 0x18, 0x01, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ergon_msr_cpu *cpu =
			ergon_msr_cpu_find(rows[i].vendor, rows[i].family, rows[i].model);

		assert_non_null(cpu);
		assert_int_equal(cpu->domains, bits_of("pc")); /* no dram: absent, not 0 */
		assert_true(cpu->quirks & ERGON_MSR_EACH_CORE);
		assert_int_equal(cpu->registers->unit, 0xc0010299);
		assert_int_equal(cpu->registers->energy[ERGON_DOMAIN_CORE], 0xc001029a);
		assert_int_equal(cpu->registers->energy[ERGON_DOMAIN_PACKAGE], 0xc001029b);
		assert_int_equal(cpu->registers->energy[ERGON_DOMAIN_DRAM], 0);
		assert_uj(cpu, ERGON_DOMAIN_PACKAGE, 16, ESU16);
		assert_uj(cpu, ERGON_DOMAIN_CORE, 16, ESU16);
		assert_int_equal(ergon_msr_is_wide(cpu, 5), rows[i].wide);
		assert_int_equal(ergon_msr_is_wide(cpu, UINT32_MAX), rows[i].wide);
		/* Bits up there are a counter of 64 bits, listed or not. */
		assert_true(ergon_msr_is_wide(cpu, UINT32_MAX + 1ull));
	}
}

static void the_rest_is_refused(void **state)
{
	static const int tpmi[] = { 0xad, 0xaf };

	(void)state;
	assert_null(ergon_msr_cpu_find("", -1, -1));
	assert_null(ergon_msr_cpu_find("GenuineIntel", 6, -1));
	assert_null(ergon_msr_cpu_find("GenuineIntel", 6, 0x0f)); /* Merom: no RAPL */
	assert_null(ergon_msr_cpu_find("GenuineIntel", 6, 0x1ff));
	assert_null(ergon_msr_cpu_find("GenuineIntel", 15, 0x8f));
	assert_null(ergon_msr_cpu_find("AuthenticAMD", 6, 0x8f));
	assert_null(ergon_msr_cpu_find("AuthenticAMD", 0x15, 0x01));
	assert_null(ergon_msr_cpu_find("AuthenticAMD", 0x18, 0x01));
	assert_null(ergon_msr_cpu_find("AuthenticAMD", 0x19, 0xb0));
	assert_null(ergon_msr_cpu_find("AuthenticAMD", 0x1b, 0x00));
	assert_null(ergon_msr_cpu_find("HygonGenuine", 0x17, 0x01));
	assert_null(ergon_msr_cpu_find("CentaurHauls", 6, 0x55));
	for (size_t i = 0; i < 2; i++) {
		const struct ergon_msr_cpu *cpu = ergon_msr_cpu_find("GenuineIntel", 6, tpmi[i]);

		assert_non_null(cpu);
		assert_true(cpu->quirks & ERGON_MSR_TPMI);
		assert_int_equal(cpu->domains, 0);
	}
}

/* Every known model, every domain, any unit register: a unit one can count with. */
static void any_unit_register_makes_a_unit(void **state)
{
	static const struct {
		const char *vendor;
		int family;
	} families[] = {
		{ "GenuineIntel", 6 }, { "AuthenticAMD", 0x17 }, { "AuthenticAMD", 0x19 },
		{ "AuthenticAMD", 0x1a }, { "HygonGenuine", 0x18 },
	};
	uint64_t random = 20261201;
	size_t models = 0;

	(void)state;
	for (size_t f = 0; f < 5; f++) {
		for (int model = 0; model < 0x100; model++) {
			const struct ergon_msr_cpu *cpu =
				ergon_msr_cpu_find(families[f].vendor, families[f].family, model);

			models += cpu != NULL;
			for (int i = 0; cpu && i < 200; i++) {
				uint64_t units = i < 32 ? UNITS(i) : random;

				random = random * 6364136223846793005u + 1442695040888963407u;
				for (int d = 0; d < ERGON_DOMAIN_COUNT; d++) {
					double unit = ergon_msr_unit_j(cpu, (enum ergon_domain)d, units);

					assert_true(isfinite(unit) && unit > 1e-10 && unit < 1e4);
				}
			}
		}
	}
	assert_true(models > 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rest_is_refused),
		cmocka_unit_test(intel_models),
		cmocka_unit_test(intel_registers),
		cmocka_unit_test(amd_models),
		cmocka_unit_test(any_unit_register_makes_a_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
