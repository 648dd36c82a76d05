/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GROUPS_H
#define GROUPS_H

const char *group_root(void);
const char *group_name(unsigned long long id);

#endif
