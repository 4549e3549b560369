/*
 * A provider token that processes share through a file: one token for all, even if processes are
 * killed or stopped, and no harm by a file that is something else.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "keychain.h"
#include "signing.h"

/* As Sources/APNS/Credentials/HTTP2/SharedTokenRecord.swift has it. */
enum {
  RECORD_SIZE = 384,
  KEY_PLACE = 16,
  TEAM_PLACE = 26,
  COUNT_PLACE = 36,
  MADE_PLACE = 40,
  TEXT_PLACE = 96,
  CHECK_PLACE = 352
};

static EVP_PKEY *key, *other_key;
static service_t *service;
static heard_t heard;
static char directory[PATH_MAX], file[PATH_MAX + 16], lock_file[PATH_MAX + 32];
static apns_credentials_options_t options;

void before_each(void) {
  static int number;
  char name[32];
  snprintf(name, sizeof name, "cache-%d", number++);
  memset(&heard, 0, sizeof heard);
  service = service_start(&(service_options_t){.judge = hear_token, .context = &heard});
  snprintf(directory, sizeof directory, "%s", identities_directory(name));
  chmod(directory, 0700);
  snprintf(file, sizeof file, "%s/token", directory);
  snprintf(lock_file, sizeof lock_file, "%s.lock", file);
  options = signing_options(key);
  options.token_cache_file = file;
}

void after_each(void) {
  chmod(directory, 0700);
  setenv("APNS_TOKEN_CACHE", "off", 1);
  service_free(service);
}

/* ---- One token for all -------------------------------------------------------- */

static void read_record(uint8_t *record) {
  const int descriptor = open(file, O_RDONLY);
  assert_true(descriptor >= 0);
  assert_int_equal(read(descriptor, record, RECORD_SIZE), RECORD_SIZE);
  close(descriptor);
}

/* The next process can use the file. */
static void assert_in_order(const char *authorization) {
  struct stat found;
  uint8_t record[RECORD_SIZE];
  assert_int_equal(lstat(file, &found), 0);
  assert_true(S_ISREG(found.st_mode));
  assert_int_equal(found.st_mode & 07777, 0600);
  assert_int_equal(found.st_uid, geteuid());
  assert_int_equal(found.st_size, RECORD_SIZE);
  read_record(record);
  assert_memory_equal(record + TEXT_PLACE, authorization, strlen(authorization));
}

TEST(the_next_takes_it) {
  const mode_t before = umask(0777);
  push_once(service, &options);
  umask(before);
  assert_int_equal(heard.count, 1);
  assert_true(is_token_of(heard.tokens[0], key));
  assert_in_order(heard.tokens[0]);
  for (int n = 0; n < 3; n++) push_once(service, &options);
  assert_int_equal(heard.count, 1);
  /* Nothing else is left in the directory. */
  unlink(file), unlink(lock_file);
  assert_int_equal(rmdir(directory), 0);
  mkdir(directory, 0700);
}

/* All are connected before one of them signs, so that they do it at the same time. */
typedef struct gate {
  int ready[2], opened[2];
} gate_t;

static int push_when_all_are_there(void *context) {
  char byte = 0;
  const gate_t *gate = context;
  close(gate->opened[1]);
  owned(credentials) credentials = credentials_of(&options);
  owned(session) session = signing_session(service, credentials);
  CHILD_REQUIRE(apns_session_connect(session, NULL) == APNS_OK);
  CHILD_REQUIRE(write(gate->ready[1], &byte, 1) == 1);
  CHILD_REQUIRE(read(gate->opened[0], &byte, 1) == 0);
  send_range(session, 0, 1), drain(session);
  CHILD_REQUIRE(stats_of(session).accepted == 1);
  return 0;
}

static pid_t child_that(int (*body)(void *), void *argument) {
  fflush(NULL);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(4 * AMPLE_MS / 1000);
    _exit(body(argument));
  }
  return child;
}

TEST(eight_at_once) {
  for (size_t round = 0; round < 10; round++) {
    gate_t gate;
    pid_t children[8];
    char byte;
    unlink(file);
    assert_int_equal(pipe(gate.ready), 0);
    assert_int_equal(pipe(gate.opened), 0);
    for (size_t n = 0; n < 8; n++) children[n] = child_that(push_when_all_are_there, &gate);
    for (size_t n = 0; n < 8; n++) assert_int_equal(read(gate.ready[0], &byte, 1), 1);
    for (size_t n = 0; n < 2; n++) close(gate.opened[1 - n]);
    for (size_t n = 0; n < 8; n++) {
      int status = -1;
      assert_int_equal(waitpid(children[n], &status, 0), children[n]);
      assert_int_equal(status, 0);
    }
    for (size_t n = 0; n < 2; n++) close(gate.ready[n]);
    assert_int_equal(heard.count, round + 1);
  }
}

/* ---- The file of the user ------------------------------------------------------- */

static int push_in_a_process(void *unused) {
  (void)unused;
  owned(credentials) credentials = credentials_of(&options);
  owned(session) session = signing_session(service, credentials);
  send_range(session, 0, 1), drain(session);
  CHILD_REQUIRE(stats_of(session).accepted == 1);
  return 0;
}

/* How many tokens two processes make. */
static size_t tokens_of_two(const char *option, const char *cache, const char *runtime) {
  const size_t before = heard.count;
  options.token_cache_file = option;
  setenv("APNS_TOKEN_CACHE", cache, 1);
  setenv("XDG_RUNTIME_DIR", runtime, 1);
  for (size_t n = 0; n < 2; n++) {
    int status = -1;
    const pid_t child = child_that(push_in_a_process, NULL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
  return heard.count - before;
}

TEST(a_file_that_nobody_names) {
  char place[PATH_MAX + 16];
  snprintf(place, sizeof place, "%s/", directory);
  snprintf(file, sizeof file, "%s/apns-" TEAM_ID "-" KEY_ID ".token", directory);
  const struct {
    const char *option, *cache, *runtime;
    size_t tokens;
  } ways[] = {
      {NULL, "", directory, 1},          {NULL, directory, "/nonexistent", 1},
      {place, "off", "/nonexistent", 1}, {NULL, "off", directory, 2},
      {"off", directory, directory, 2},  {NULL, "/nonexistent", directory, 2},
      {NULL, "", "/nonexistent", 2},
  };
  for (size_t n = 0; n < sizeof ways / sizeof *ways; n++) {
    assert_int_equal(tokens_of_two(ways[n].option, ways[n].cache, ways[n].runtime), ways[n].tokens);
    if (ways[n].tokens == 1) assert_in_order(heard.tokens[heard.count - 1]);
    assert_int_equal(unlink(file), ways[n].tokens == 1 ? 0 : -1);
  }
  chmod(directory, 0777);
  assert_int_equal(tokens_of_two(NULL, "", directory), 2);
  assert_int_equal(access(file, F_OK), -1);
}

/* Other processes use the same file for another key or team, in turn. */
TEST(each_key_for_itself) {
  apns_credentials_options_t others[] = {signing_options(other_key), options, options};
  others[0].token_cache_file = file;
  others[1].key_id = "KKKKKKKKKK";
  others[2].team_id = "TTTTTTTTTT";
  push_once(service, &options);
  for (size_t n = 0; n < 3; n++) {
    push_once(service, &others[n]);
    assert_int_equal(heard.count, n + 2);
    assert_in_order(heard.tokens[n + 1]);
  }
}

/* ---- Age and refusals ---------------------------------------------------------- */

TEST(one_renews_for_all) {
  apns_credentials_t *credentials[3];
  apns_session_t *sessions[3];
  for (size_t n = 0; n < 3; n++) {
    credentials[n] = credentials_of(&options);
    sessions[n] = signing_session(service, credentials[n]);
    send_range(sessions[n], 0, 1), drain(sessions[n]);
  }
  assert_int_equal(heard.count, 1);
  clock_forward(56 * 60 * 1000);
  for (size_t n = 0; n < 3; n++) send_range(sessions[n], 1, 2), drain(sessions[n]);
  assert_int_equal(heard.count, 2);
  /* APNs refuses that token: the processes share another one, and a new process takes it. */
  heard.refused = heard.tokens[1];
  for (size_t n = 0; n < 3; n++) {
    send_range(sessions[n], 2, 3), drain(sessions[n]);
    assert_counts(sessions[n], 3, 3, 0, 0, 0);
  }
  push_once(service, &options);
  assert_int_equal(heard.count, 3);
  /* The next one is refused too: no process makes another within 20 minutes. */
  heard.refused = NULL, heard.refuses_all = true;
  for (size_t n = 0; n < 3; n++) {
    send_range(sessions[n], 3, 4), drain(sessions[n]);
    assert_counts(sessions[n], 4, 3, 1, 0, 0);
  }
  owned(credentials) late = credentials_of(&options);
  apns_session_t *session = signing_session(service, late);
  send_range(session, 0, 1), drain(session);
  assert_counts(session, 1, 0, 1, 0, 0);
  assert_int_equal(heard.count, 3);
  apns_session_free(session);
  for (size_t n = 0; n < 3; n++)
    apns_session_free(sessions[n]), apns_credentials_free(credentials[n]);
}

/* ---- Holders of the lock --------------------------------------------------------- */

static int hold_the_lock(void *ready) {
  const int lock = open(lock_file, O_RDWR | O_CREAT, 0600);
  CHILD_REQUIRE(lock >= 0 && flock(lock, LOCK_EX) == 0);
  CHILD_REQUIRE(write(*(int *)ready, "", 1) == 1);
  while (true) pause();
}

static pid_t holder(void) {
  int ready[2];
  char byte;
  assert_int_equal(pipe(ready), 0);
  const pid_t child = child_that(hold_the_lock, &ready[1]);
  assert_int_equal(read(ready[0], &byte, 1), 1);
  close(ready[0]), close(ready[1]);
  return child;
}

static void end(pid_t child) {
  kill(child, SIGKILL);
  assert_int_equal(waitpid(child, NULL, 0), child);
}

TEST(a_killed_holder) {
  end(holder());
  push_once(service, &options);
  push_once(service, &options);
  assert_int_equal(heard.count, 1);
  assert_in_order(heard.tokens[0]);
}

TEST(a_stopped_holder) {
  const pid_t child = holder();
  kill(child, SIGSTOP);
  int status = 0;
  assert_int_equal(waitpid(child, &status, WUNTRACED), child);
  assert_true(WIFSTOPPED(status));
  owned(credentials) credentials = credentials_of(&options);
  owned(session) session = signing_session(service, credentials);
  assert_ok(apns_session_connect(session, &error));
  int64_t began = clock_ms();
  send_range(session, 0, 1);
  assert_within(began, 100);
  drain(session);
  /* It signed alone, and later processes take that token. */
  push_once(service, &options);
  assert_int_equal(heard.count, 1);
  /* A token that works for some more minutes is kept, and no process waits for a new one. */
  clock_forward(56 * 60 * 1000);
  began = clock_ms();
  send_range(session, 1, 50), drain(session);
  assert_int_equal(heard.count, 1);
  end(child);
  clock_forward(1000);
  send_range(session, 50, 51), drain(session);
  assert_int_equal(heard.count, 2);
}

/* ---- Files that are something else ------------------------------------------------- */

static void write_file(const char *path, const void *bytes, size_t length) {
  const int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_true(descriptor >= 0);
  assert_int_equal(write(descriptor, bytes, length), length);
  close(descriptor);
}

/* A record that was changed, and is whole. */
static void rewrite(void (*change)(uint8_t *)) {
  uint8_t record[RECORD_SIZE];
  read_record(record);
  change(record);
  SHA256(record, CHECK_PLACE, record + CHECK_PLACE);
  write_file(file, record, sizeof record);
}

static void set_made(uint8_t *record, int64_t age) {
  const int64_t made = time(NULL) - age;
  memcpy(record + MADE_PLACE, &made, sizeof made);
}
static void make_old(uint8_t *record) { set_made(record, 3600); }
static void make_ancient(uint8_t *record) { memset(record + MADE_PLACE, 0x80, 8); }
static void make_future(uint8_t *record) { set_made(record, -3600); }
static void make_far_future(uint8_t *record) { memset(record + MADE_PLACE, 0x7F, 8); }
static void make_other_version(uint8_t *record) { record[11] = '2'; }
static void make_long(uint8_t *record) { memset(record + COUNT_PLACE, 0xFF, 4); }
static void make_empty(uint8_t *record) { memset(record + COUNT_PLACE, 0, 4); }
static void make_header(uint8_t *record) { record[TEXT_PLACE + 60] = '\n'; }
static void make_basic(uint8_t *record) { memcpy(record + TEXT_PLACE, "BASIC! ", 7); }

static void is_old(void) { rewrite(make_old); }
static void is_ancient(void) { rewrite(make_ancient); }
static void is_of_tomorrow(void) { rewrite(make_future); }
static void is_of_the_last_day(void) { rewrite(make_far_future); }
static void is_of_another_version(void) { rewrite(make_other_version); }
static void says_too_long(void) { rewrite(make_long); }
static void says_empty(void) { rewrite(make_empty); }
static void has_a_line_end(void) { rewrite(make_header); }
static void is_no_bearer(void) { rewrite(make_basic); }

static void is_rubbish(void) {
  uint8_t bytes[RECORD_SIZE];
  memset(bytes, 'x', sizeof bytes);
  write_file(file, bytes, sizeof bytes);
}
static void is_empty(void) { write_file(file, "", 0); }
static void is_cut(void) { assert_int_equal(truncate(file, RECORD_SIZE - 1), 0); }
static void is_huge(void) { assert_int_equal(truncate(file, 1 << 30), 0); }
static void has_a_wrong_bit(void) {
  uint8_t record[RECORD_SIZE];
  read_record(record);
  record[TEXT_PLACE + 100] ^= 1;
  write_file(file, record, sizeof record);
}
static void is_readable_by_others(void) { assert_int_equal(chmod(file, 0644), 0); }
static void is_writable_by_the_group(void) { assert_int_equal(chmod(file, 0620), 0); }
static void is_a_link(void) {
  char target[PATH_MAX + 32];
  snprintf(target, sizeof target, "%s.target", file);
  assert_int_equal(rename(file, target), 0);
  assert_int_equal(symlink(target, file), 0);
}
static void is_a_fifo(void) {
  unlink(file);
  assert_int_equal(mkfifo(file, 0600), 0);
}
static void is_foreign(void) { assert_int_equal(chown(file, 65534, 65534), 0); }

TEST(something_else) {
  static const struct {
    const char *name;
    void (*poison)(void);
    bool needs_root;
  } kinds[] = {
      {"old", is_old, false},
      {"ancient", is_ancient, false},
      {"of tomorrow", is_of_tomorrow, false},
      {"of the last day", is_of_the_last_day, false},
      {"of another version", is_of_another_version, false},
      {"too long", says_too_long, false},
      {"empty token", says_empty, false},
      {"line end", has_a_line_end, false},
      {"no bearer", is_no_bearer, false},
      {"rubbish", is_rubbish, false},
      {"empty", is_empty, false},
      {"cut", is_cut, false},
      {"huge", is_huge, false},
      {"wrong bit", has_a_wrong_bit, false},
      {"readable", is_readable_by_others, false},
      {"writable", is_writable_by_the_group, false},
      {"link", is_a_link, false},
      {"FIFO", is_a_fifo, false},
      {"foreign", is_foreign, true},
  };
  for (size_t n = 0; n < sizeof kinds / sizeof *kinds; n++) {
    if (kinds[n].needs_root && geteuid() != 0) {
      print_message("skipped: %s, which takes root\n", kinds[n].name);
      continue;
    }
    unlink(file);
    push_once(service, &options);
    const size_t before = heard.count;
    kinds[n].poison();
    push_once(service, &options);
    if (heard.count != before + 1)
      fail_msg("%s: %zu tokens, not 1", kinds[n].name, heard.count - before);
    /* The earlier file is gone, and the next process has a token again. */
    assert_in_order(heard.tokens[before]);
    push_once(service, &options);
    assert_int_equal(heard.count, before + 1);
  }
}

/* ---- Places where no file can be ------------------------------------------------- */

TEST(a_lock_that_is_none) {
  assert_int_equal(symlink("/etc/passwd", lock_file), 0);
  push_once(service, &options);
  push_once(service, &options);
  assert_int_equal(heard.count, 1);
  unlink(lock_file), unlink(file);
  assert_int_equal(mkfifo(lock_file, 0600), 0);
  push_once(service, &options);
  assert_int_equal(heard.count, 2);
}

/* Each signs its own, and nothing is left there. */
static void assert_alone(const char *path) {
  const size_t before = heard.count;
  options.token_cache_file = path;
  push_once(service, &options);
  push_once(service, &options);
  assert_int_equal(heard.count, before + 2);
}

TEST(directories_that_cannot_be) {
  chmod(directory, 0777);
  assert_alone(file);
  chmod(directory, 01777);
  assert_alone(file);
  chmod(directory, 0770);
  assert_alone(file);
  assert_int_equal(access(file, F_OK), -1);
  if (geteuid() == 0) {
    chmod(directory, 0700);
    assert_int_equal(chown(directory, 65534, 65534), 0);
    assert_alone(file);
    assert_int_equal(access(file, F_OK), -1);
    assert_int_equal(chown(directory, 0, 0), 0);
  }
  chmod(directory, 0700);
  mkdir(file, 0700);
  assert_alone(file);
  rmdir(file);
  assert_alone("/nonexistent/token");
  assert_alone("/etc/passwd/token");
  char longest[PATH_MAX + 300];
  snprintf(longest, sizeof longest, "%s/%0256d", directory, 1);
  assert_alone(longest);
}

TEST(options_that_cannot_be) {
  options.token_cache_file = "";
  check_refused(&options, APNS_ERR_ARGUMENT, "token_cache_file is not the name of a file");
  char endless[5000] = {0};
  memset(endless, 'x', sizeof endless - 1);
  options.token_cache_file = endless;
  check_refused(&options, APNS_ERR_ARGUMENT, "token_cache_file is not the name of a file");
  options = (apns_credentials_options_t)APNS_CREDENTIALS_OPTIONS_INIT;
  options.token_cache_file = file;
  check_refused(&options, APNS_ERR_ARGUMENT, "token_cache_file is given without a token_key");
  options.token_cache_file = "off";
  apns_credentials_free(credentials_of(&options));
}

void before_all(void) {
  identities_make();
  key = keychain_key(false), other_key = keychain_key(false);
}

void after_all(void) { EVP_PKEY_free(key), EVP_PKEY_free(other_key); }
