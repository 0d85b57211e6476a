/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_TOPO_DOMAIN_H
#define GPUQOS_TOPO_DOMAIN_H

#include "topo/topo.h"

/*
 * Domains: what a set of cards can be asked to lie within.
 *
 * NUMA: one NUMA node.
 *
 * PCIeSwitch: the paths of all cards to the root complex meet below it, so that traffic between
 * them never passes it; nvidia-smi says PIX or PXB of every two of them. That is so exactly where
 * they have the topmost bridge of their paths in common: a root port has one link, so what two
 * cards have in common below a root is a switch, or a port with a switch below it. How far down
 * they meet, which matters where switches are nested as in a DGX-2, is for the score. A card of
 * which no bridge is known may sit anywhere, also on the root complex itself.
 *
 * NVLink: every two cards are joined by NVLink, directly or by way of NVSwitches. A path by way of
 * a third card is no such link: that card's owner is somebody else, or it is in the set and then
 * carries others' traffic. So the 8 cards of a cube mesh (DGX-1) lie in no NVLink domain together,
 * and its quads do. Where a layout has no link at all it is not known whether there are any: its
 * agent may not have been able to ask.
 *
 * In each scope a set lies in one domain where every two of its cards do. One card always does.
 */

enum topo_answer { TOPO_NO, TOPO_YES, TOPO_UNKNOWN };

/*
 * A number that tells the domain of @card from others of the same scope, or LAYOUT_NONE where it is
 * not known: the index of its NUMA node, of the topmost bridge above it, or the lowest card that
 * is joined to it by any way of NVLinks (where links do not join all with all, such cards need not
 * be in one domain).
 */
uint32_t topo_domain(const struct topo *topo, enum layout_scope scope, uint32_t card);

/* Whether @set lies in one domain; UNKNOWN only where what is known does not say no. */
enum topo_answer topo_in_one_domain(const struct topo *topo, enum layout_scope scope, uint64_t set);

/*
 * The most cards of @set that lie in one domain; counting as in it those of which that is not known
 * where @hoping. Exact for NUMA and PCIeSwitch unless hoping; else it may be too large.
 */
uint32_t topo_largest_in_one(const struct topo *topo, enum layout_scope scope, uint64_t set,
			     bool hoping);

#endif
