/* What a process leaves to others: no descriptors to programs that it starts, and no dump of its
 * keys. */
#ifndef APNS_CPROCESS_H
#define APNS_CPROCESS_H

/* Neither a dump nor a debugger of the same user reads the memory of this process. */
void process_forbid_dumps(void);

/* What an abort from outside does: it ends the process at once, whatever a runtime has installed.
 */
void process_end_at_abort(void);

#endif
