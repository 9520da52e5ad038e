/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration of the commands that use the store: --config, else ERGON_CONF, else the site's file. */
#ifndef ERGON_STORE_CONFIG_H
#define ERGON_STORE_CONFIG_H

#include "conf.h"
#include "error.h"

/* config: the argument of --config, or NULL. 0, -1 + err. */
int ergon_store_config(struct ergon_conf *conf, const char *config, struct ergon_error *err);

#endif
