/* SPDX-License-Identifier: Apache-2.0 */
/* Ports of nodes. */
#include "model/port.h"

static bool is_of_all(const struct host_port *port)
{
	return str_equal(port->ip, STR(HOST_PORT_ALL));
}

bool host_ports_clash(const struct host_port *a, const struct host_port *b)
{
	if (a->number == HOST_PORT_ANY || b->number == HOST_PORT_ANY)
		return true;
	return a->number == b->number && str_equal(a->protocol, b->protocol) &&
	       (is_of_all(a) || is_of_all(b) || str_equal(a->ip, b->ip));
}
