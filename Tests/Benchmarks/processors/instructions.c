/*
 * A qemu plugin that counts the instructions a program executes between two marks, in its own code
 * and altogether, and writes both numbers to a line of FILE.
 *
 *   qemu-aarch64 -plugin instructions.so,counts=FILE PROGRAM
 *
 * Debian has no header for plugins; these are the declarations of qemu 4.2 and later (interface 1).
 */
#include "instructions.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct qemu_plugin_tb;
typedef uint64_t qemu_plugin_id_t;
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*call)(qemu_plugin_id_t id,
                                                        struct qemu_plugin_tb *block));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int add, void *number,
                                              uint64_t summand);
void qemu_plugin_register_vcpu_syscall_cb(
    qemu_plugin_id_t id,
    void (*call)(qemu_plugin_id_t id, unsigned processor, int64_t number, uint64_t first,
                 uint64_t second, uint64_t third, uint64_t fourth, uint64_t fifth, uint64_t sixth,
                 uint64_t seventh, uint64_t eighth));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_start_code(void);
uint64_t qemu_plugin_end_code(void);

int qemu_plugin_version = 1;

static FILE *file;
static uint64_t own, all, own_before, all_before;
static bool is_counting;

/* Called once per block of code that qemu translates; the block is counted each time it runs. */
static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
  (void)id;
  const uint64_t at = qemu_plugin_tb_vaddr(block), count = qemu_plugin_tb_n_insns(block);
  qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &all, count);
  if (at >= qemu_plugin_start_code() && at < qemu_plugin_end_code())
    qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &own, count);
}

static void called(qemu_plugin_id_t id, unsigned processor, int64_t number, uint64_t first,
                   uint64_t second, uint64_t third, uint64_t fourth, uint64_t fifth, uint64_t sixth,
                   uint64_t seventh, uint64_t eighth) {
  (void)id, (void)processor, (void)number, (void)second, (void)third, (void)fourth, (void)fifth;
  (void)sixth, (void)seventh, (void)eighth;
  if (first != INSTRUCTIONS_MARK) return;
  if (is_counting) {
    fprintf(file, "%" PRIu64 " %" PRIu64 "\n", own - own_before, all - all_before);
    fflush(file);
  }
  is_counting = !is_counting;
  own_before = own, all_before = all;
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);
int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv) {
  (void)info;
  if (argc != 1 || strncmp(argv[0], "counts=", 7)) return -1;
  file = fopen(argv[0] + 7, "w");
  if (!file) return -1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_vcpu_syscall_cb(id, called);
  return 0;
}
