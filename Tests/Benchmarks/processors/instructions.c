/*
 * A qemu plugin that counts the instructions a program executes, in its own code and altogether,
 * and writes both numbers to FILE.PID at the end.
 *
 *   qemu-aarch64 -plugin instructions.so,counts=FILE PROGRAM
 *
 * Debian has no header for plugins; these are the declarations of qemu 4.2 and later (interface 1).
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct qemu_plugin_tb;
typedef uint64_t qemu_plugin_id_t;
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*call)(qemu_plugin_id_t id,
                                                        struct qemu_plugin_tb *block));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int add, void *number,
                                              uint64_t summand);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id,
                                    void (*call)(qemu_plugin_id_t id, void *data), void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_start_code(void);
uint64_t qemu_plugin_end_code(void);

int qemu_plugin_version = 1;

static char file[4096];
static uint64_t own, all;

/* Called once per block of code that qemu translates; the block is counted each time it runs. */
static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
  (void)id;
  const uint64_t at = qemu_plugin_tb_vaddr(block), count = qemu_plugin_tb_n_insns(block);
  qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &all, count);
  if (at >= qemu_plugin_start_code() && at < qemu_plugin_end_code())
    qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &own, count);
}

static void ended(qemu_plugin_id_t id, void *data) {
  (void)id, (void)data;
  char path[sizeof file + 16];
  snprintf(path, sizeof path, "%s.%d", file, (int)getpid());
  FILE *out = fopen(path, "w");
  if (!out) return;
  fprintf(out, "%" PRIu64 " %" PRIu64 "\n", own, all);
  fclose(out);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);
int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv) {
  (void)info;
  if (argc != 1 || strncmp(argv[0], "counts=", 7)) return -1;
  snprintf(file, sizeof file, "%s", argv[0] + 7);
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, ended, NULL);
  return 0;
}
