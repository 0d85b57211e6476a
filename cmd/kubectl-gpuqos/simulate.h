/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUQOS_CMD_KUBECTL_SIMULATE_H
#define GPUQOS_CMD_KUBECTL_SIMULATE_H

/* kubectl gpuqos simulate: the exit code. @argv[0] is "simulate". */
int simulate_main(int argc, char **argv);

#endif
