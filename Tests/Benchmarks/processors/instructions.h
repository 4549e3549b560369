/* The first argument of a system call, of any, by which a program marks the begin and end of what
   is counted: the letters APNS. */
#define INSTRUCTIONS_MARK 0x41504E53
