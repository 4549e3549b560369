/* Runs inputs of a fuzzer, files and directories of files, without a fuzzer. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

static unsigned long runs;
/* The current input, printed after a message of the sanitizer or of REQUIRE. */
static const char *current = "";

static void name_input(void) { fprintf(stderr, "replay: the input was %s\n", current); }

static bool replay_file(const char *name) {
  FILE *file = fopen(name, "rb");
  struct stat status;
  if (!file || fstat(fileno(file), &status)) {
    perror(name);
    if (file) fclose(file);
    return false;
  }
  size_t size = (size_t)status.st_size;
  uint8_t *bytes = malloc(size ? size : 1);
  bool is_whole = bytes && fread(bytes, 1, size, file) == size;
  fclose(file);
  if (is_whole) {
    current = name;
    /* A trap ends the program without a message: then the last name printed is the input. */
    if (getenv("FUZZ_VERBOSE")) fprintf(stderr, "%s\n", name);
    LLVMFuzzerTestOneInput(bytes, size);
    runs++;
  }
  free(bytes);
  return is_whole;
}

static bool replay(const char *name) {
  DIR *directory = opendir(name);
  if (!directory) return replay_file(name);
  bool all = true;
  struct dirent *entry;
  while ((entry = readdir(directory))) {
    if (entry->d_name[0] == '.') continue;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", name, entry->d_name);
    all = replay_file(path) && all;
  }
  closedir(directory);
  return all;
}

void __asan_set_death_callback(void (*callback)(void));

int main(int count, char **names) {
  __asan_set_death_callback(name_input);
  bool all = true;
  for (int i = 1; i < count; i++) all = replay(names[i]) && all;
  printf("%lu inputs\n", runs);
  return all && runs > 0 ? 0 : 2;
}
