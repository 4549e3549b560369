/* Keeps descriptors out of child processes, and keys out of dumps, and follows other processes. */
#ifndef APNS_CPROCESS_H
#define APNS_CPROCESS_H

/* Prevents dumps of this process, and debuggers of the same user. */
void process_forbid_dumps(void);

/* SIGABRT from outside ends the process immediately, even if a runtime has installed a handler. */
void process_end_at_abort(void);

/* A descriptor that is readable once that process has ended; -1 on failure. The caller closes it.
 */
int process_follow(int process);

/* Names the calling thread, for `top -H`. Only 15 bytes count. */
void process_name_thread(const char *name);

#endif
