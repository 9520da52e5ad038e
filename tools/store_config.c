/* SPDX-License-Identifier: BSD-3-Clause */
#include "store_config.h"

#include "environ.h"

int ergon_store_config(struct ergon_conf *conf, const char *config, struct ergon_error *err)
{
	if (!config)
		config = ergon_env_get(ERGON_ENV_CONF);
	return ergon_conf_load(conf, *config ? config : NULL, err);
}
