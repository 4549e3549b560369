/* Programs that this process starts inherit no descriptors, and no dump shows its keys. */
#ifndef APNS_CPROCESS_H
#define APNS_CPROCESS_H

/* Prevents dumps of this process, and debuggers of the same user. */
void process_forbid_dumps(void);

/* SIGABRT from outside ends the process immediately, even if a runtime has installed a handler. */
void process_end_at_abort(void);

#endif
