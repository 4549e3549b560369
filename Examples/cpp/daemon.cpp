/*
 * A provider daemon in C++: takes notifications, a JSON object on each line, from whoever
 * connects to a UNIX socket, pushes them through one session that it keeps alive, and
 * logs the end of each. SIGTERM ends it when all is known. README.md says what a line
 * holds and what is logged.
 *
 *   c++ -std=c++17 daemon.cpp -lapns -lnghttp2 -lssl -lcrypto -ljansson -o daemon
 *   daemon [--protocol binary|http2] [--topic ID] [--p8 FILE --key-id ID --team-id ID]
 *          SOCKET HOST PORT [CERTIFICATE|- [CA]]
 */
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <apns/apns.hpp>
#include <cerrno>
#include <iostream>
#include <list>
#include <stdexcept>
#include <system_error>

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t longest_line = 8192, longest_name = 64, most_clients = 64;
constexpr auto idle = 1s, pause_between_tries = 1s, drain_limit = 10s;

/** A file descriptor, closed at its end. */
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {
    if (number < 0) throw std::system_error(errno, std::generic_category());
    fcntl(number, F_SETFD, FD_CLOEXEC);
    fcntl(number, F_SETFL, O_NONBLOCK);
  }
  Descriptor(Descriptor &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

/** What makes a line no notification. */
struct BadLine : std::runtime_error {
  using runtime_error::runtime_error;
};

/** One line, read and found to be a notification. */
struct Push {
  apns::Token token;
  std::string name, payload;
  std::int64_t expiry = 0;
  std::uint8_t priority = 0;
  // HTTP/2 only; "" is not said.
  apns_push_type_t type = APNS_PUSH_TYPE_DEFAULT;
  std::string topic, collapse_id, apns_id;
};

apns_push_type_t push_type_of(std::string_view name) {
  for (int type = APNS_PUSH_TYPE_ALERT; type <= APNS_PUSH_TYPE_CONTROLS; type++)
    if (name == apns_push_type_text(static_cast<apns_push_type_t>(type)))
      return static_cast<apns_push_type_t>(type);
  throw BadLine("push_type is none of APNs'");
}

/** Changes `name` to the line's own as soon as it is known, so that what is thrown has it. */
Push parse(std::string_view text, std::string &name, bool is_http2) {
  struct Release {
    void operator()(json_t *value) const { json_decref(value); }
  };
  json_error_t fault;
  const std::unique_ptr<json_t, Release> line(
      json_loadb(text.data(), text.size(), JSON_REJECT_DUPLICATES, &fault));
  const char *id = nullptr, *hex = nullptr, *topic = nullptr, *type = nullptr;
  const char *collapse_id = nullptr, *apns_id = nullptr;
  json_t *payload = nullptr;
  json_int_t expiry = 0;
  int priority = 0;
  if (!line ||
      json_unpack_ex(line.get(), &fault, JSON_STRICT,
                     "{s?s, s:s, s:o, s?I, s?i, s?s, s?s, s?s, s?s}", "id", &id, "token", &hex,
                     "payload", &payload, "expiry", &expiry, "priority", &priority, "topic", &topic,
                     "push_type", &type, "collapse_id", &collapse_id, "apns_id", &apns_id)) {
    if (id && payload) name = id;
    throw BadLine(fault.text);
  }
  if (id) {
    const std::string_view given = id;
    if (given.empty() || given.size() > longest_name) throw BadLine("id has to have 1 to 64 bytes");
    for (unsigned char byte : given)
      if (byte < ' ' || byte == 0x7F) throw BadLine("id has a control character in it");
    name = given;
  }
  if (!json_is_object(payload)) throw BadLine("payload is not an object");
  if (priority < 0 || priority > 10) throw BadLine("priority is not from 1 to 10");

  struct Free {
    void operator()(char *text) const { std::free(text); }
  };
  const std::unique_ptr<char, Free> json(json_dumps(payload, JSON_COMPACT));
  if (!json) throw std::bad_alloc();
  Push push;
  push.token = apns::Token::from_hex(hex);
  push.payload = json.get();
  push.name = name;
  push.expiry = expiry;
  push.priority = static_cast<std::uint8_t>(priority);
  if (type) push.type = push_type_of(type);
  if (topic) push.topic = topic;
  if (collapse_id) push.collapse_id = collapse_id;
  if (apns_id) push.apns_id = apns_id;
  const std::size_t limit = !is_http2                          ? APNS_PAYLOAD_MAX_FRAMED
                            : push.type == APNS_PUSH_TYPE_VOIP ? APNS_PAYLOAD_MAX_VOIP
                                                               : APNS_PAYLOAD_MAX_HTTP2;
  for (const apns::Finding &finding : apns::check_payload(push.payload, limit))
    if (finding.is_error()) throw BadLine(finding.message);
  return push;
}

/** The session, and the log of what became of each notification. */
class Provider {
 public:
  Provider(const apns::Credentials &who, const apns::SessionOptions &where)
      : session_(who, where), is_http2_(where.protocol == APNS_PROTOCOL_HTTP2) {
    try {
      session_.connect();
    } catch (const apns::Error &error) {
      wait_for_gateway(error);
    }
  }

  /** False: the line has to wait for a gateway, and comes again. */
  bool take(std::string_view text, std::string name) {
    try {
      const Push push = parse(text, name, is_http2_);
      // The session carries the name, and brings it back with the outcome.
      auto carried = std::make_unique<std::string>(push.name);
      apns::Notification notification(push.token, push.payload, carried.get());
      notification.expiry = push.expiry;
      notification.priority = push.priority;
      notification.of_type(push.type);
      notification.to_topic(push.topic.c_str()).collapsing(push.collapse_id.c_str());
      notification.identified_by(push.apns_id.c_str());
      send(notification);
      static_cast<void>(carried.release());
      taken_++;
      last_taken_ = Clock::now();
    } catch (const apns::Error &error) {
      if (error.is_retryable() && !is_stopping_) return wait_for_gateway(error), false;
      refuse(name, error.what());
    } catch (const BadLine &fault) {
      refuse(name, fault.what());
    }
    return true;
  }

  void refuse(const std::string &name, std::string_view why) {
    std::cout << name << ": refused: " << why << std::endl;
    refused_++;
  }

  /** Once in a while and after each batch: writes, hears, and by the binary interface, where
      silence is no answer, proves what was long silent. */
  void tend() {
    try {
      session_.flush();
      take_outcomes();
      if (!is_http2_ && is_busy() && Clock::now() - last_taken_ >= idle)
        session_.drain(drain_limit);
    } catch (const apns::Error &error) {
      if (error.status() != APNS_ERR_FULL) wait_for_gateway(error);
    }
    take_outcomes();
  }

  bool is_busy() const { return session_.stats().unresolved > 0; }

  /** How long there is no use in taking more. */
  std::chrono::milliseconds pause() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(retry_ - Clock::now());
  }

  /** From now on nothing waits for a gateway that is not there. */
  void stop() { is_stopping_ = true; }

  /** Whether the end of each is known. */
  bool finish() {
    try {
      session_.drain(drain_limit);
    } catch (const apns::Error &error) {
      std::cerr << "not all is known: " << error.what() << std::endl;
    }
    session_.try_close(1s);
    take_outcomes();
    std::cout << "drained: " << taken_ << " taken = " << accepted_ << " accepted + " << rejected_
              << " rejected + " << unknown_ << " unknown; " << refused_ << " refused" << std::endl;
    return unknown_ == 0;
  }

 private:
  void send(const apns::Notification &notification) {
    for (;;) {
      try {
        session_.send(notification, APNS_SEND_MORE);
        return;
      } catch (const apns::Error &error) {
        if (error.status() != APNS_ERR_FULL) throw;
        take_outcomes();
      }
    }
  }

  void take_outcomes() {
    for (const apns::Event &event : session_.try_events()) {
      const std::unique_ptr<std::string> name(event.data<std::string>());
      std::cout << *name << ": ";
      if (event.is_accepted())
        accepted_++, std::cout << "accepted";
      else if (event.is_rejected())
        rejected_++, std::cout << "rejected: " << event.why();
      else if (unknown_++, event.reason_text().empty())
        std::cout << "unknown: the connection ended first";
      else
        std::cout << "unknown: " << event.reason_text();
      if (!event.id().empty()) std::cout << ", apns-id " << event.id();
      std::cout << std::endl;
    }
  }

  void wait_for_gateway(const apns::Error &error) {
    std::cerr << "waiting: " << error.what() << std::endl;
    retry_ = Clock::now() + pause_between_tries;
  }

  apns::Session session_;
  const bool is_http2_;
  Clock::time_point last_taken_, retry_ = Clock::now();
  unsigned long taken_ = 0, accepted_ = 0, rejected_ = 0, unknown_ = 0, refused_ = 0;
  bool is_stopping_ = false;
};

/** Whoever connected: bytes that become lines. */
class Client {
 public:
  Client(Descriptor socket, unsigned long number) : socket_(std::move(socket)), number_(number) {}

  int number() const { return socket_.number(); }
  bool is_over() const { return has_ended_ && text_.empty(); }

  /** Reads what there is and takes it; where lines have to wait, so does the client. */
  void hear(Provider &provider) {
    while (take_lines(provider) && !has_ended_) {
      char bytes[longest_line];
      const ssize_t count = read(socket_.number(), bytes, sizeof bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) has_ended_ = true;
      if (count > 0) text_.append(bytes, static_cast<std::size_t>(count));
    }
  }

  /** False: they have to wait. */
  bool take_lines(Provider &provider) {
    std::size_t from = 0;
    bool is_taken = true;
    while (from < text_.size()) {
      const std::size_t newline = text_.find('\n', from);
      const bool is_whole = newline != std::string::npos;
      const std::size_t length = (is_whole ? newline : text_.size()) - from;
      const bool is_too_long = length >= longest_line;
      if (!is_whole && !is_too_long && !has_ended_ && !is_skipping_) break;
      const std::string name = std::to_string(number_) + "." + std::to_string(line_ + 1);
      if (!is_skipping_ && is_too_long) {
        provider.refuse(name, "the line is longer than 8192 bytes");
      } else if (!is_skipping_ && length > 0) {
        is_taken = provider.take(std::string_view(text_).substr(from, length), name);
        if (!is_taken) break;
      }
      is_skipping_ = !is_whole;
      if (is_whole) line_++;
      from += length + is_whole;
    }
    text_.erase(0, from);
    return is_taken;
  }

 private:
  Descriptor socket_;
  unsigned long number_, line_ = 0;
  std::string text_;
  bool has_ended_ = false, is_skipping_ = false; /* the rest of a line too long */
};

/** The socket that clients connect to, gone from the file system at its end. */
class Listener {
 public:
  explicit Listener(const std::string &path)
      : path_(path), socket_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
      throw std::system_error(ENAMETOOLONG, std::generic_category(), path);
    path.copy(address.sun_path, path.size());
    if (bind(socket_.number(), reinterpret_cast<sockaddr *>(&address), sizeof address) ||
        listen(socket_.number(), most_clients))
      throw std::system_error(errno, std::generic_category(), path);
  }
  ~Listener() { unlink(path_.c_str()); }

  int number() const { return socket_.number(); }
  void welcome(std::list<Client> &clients) {
    while (clients.size() < most_clients) {
      const int accepted = accept(socket_.number(), nullptr, nullptr);
      if (accepted < 0) return;
      clients.emplace_back(Descriptor(accepted), ++count_);
    }
  }

 private:
  std::string path_;
  Descriptor socket_;
  unsigned long count_ = 0;
};

int wake = -1;

/** SIGTERM and SIGINT as something to poll. */
class StopSignal {
 public:
  StopSignal() : ends_(make()), read_(ends_.first), write_(ends_.second) {
    wake = write_.number();
    struct sigaction action = {};
    action.sa_handler = [](int) {
      const int before = errno;
      if (write(wake, "", 1) < 0) { /* full: it is known already */
      }
      errno = before;
    };
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
  }
  int number() const { return read_.number(); }

 private:
  static std::pair<int, int> make() {
    int ends[2];
    if (pipe(ends)) throw std::system_error(errno, std::generic_category(), "pipe");
    return {ends[0], ends[1]};
  }
  std::pair<int, int> ends_;
  Descriptor read_, write_;
};

void serve(const StopSignal &signal, Listener &listener, std::list<Client> &clients,
           Provider &provider) {
  for (;;) {
    std::vector<pollfd> polled{{signal.number(), POLLIN, 0}};
    auto wait = provider.pause();
    const bool is_listening = wait.count() <= 0;
    if (is_listening) { /* else nobody is heard, and their lines wait in their sockets */
      if (clients.size() < most_clients) polled.push_back({listener.number(), POLLIN, 0});
      for (const Client &client : clients) polled.push_back({client.number(), POLLIN, 0});
      wait = provider.is_busy() ? idle / 10 : std::chrono::milliseconds(-1);
    }
    if (poll(polled.data(), polled.size(), static_cast<int>(wait.count())) < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "poll");
    if (polled[0].revents) return;
    if (is_listening) listener.welcome(clients);
    for (Client &client : clients)
      if (provider.pause().count() <= 0) client.hear(provider);
    clients.remove_if([](const Client &client) { return client.is_over(); });
    if (provider.pause().count() <= 0) provider.tend();
  }
}

/** What the command line says. */
struct CommandLine {
  apns::CredentialsOptions who;
  apns::SessionOptions where;
  std::string path;

  /** False: that is no way to call it. */
  bool read(int argc, char **argv) {
    static const option names[] = {
        {"protocol", required_argument, nullptr, 'p'}, {"topic", required_argument, nullptr, 't'},
        {"p8", required_argument, nullptr, '8'},       {"key-id", required_argument, nullptr, 'k'},
        {"team-id", required_argument, nullptr, 'm'},  {nullptr, 0, nullptr, 0}};
    for (int found; (found = getopt_long(argc, argv, "", names, nullptr)) != -1;) {
      if (found == '?') return false;
      if (found == 't') where.topic = optarg;
      if (found == '8') who.token_key_file = optarg;
      if (found == 'k') who.key_id = optarg;
      if (found == 'm') who.team_id = optarg;
      if (found != 'p') continue;
      const bool is_http2 = optarg == std::string_view("http2");
      if (!is_http2 && optarg != std::string_view("binary")) return false;
      where.protocol = is_http2 ? APNS_PROTOCOL_HTTP2 : APNS_PROTOCOL_BINARY;
    }
    const std::vector<std::string> rest(argv + optind, argv + argc);
    if (rest.size() < 3 || rest.size() > 5) return false;
    path = rest[0];
    where.host = rest[1];
    where.port = static_cast<std::uint16_t>(std::stoi(rest[2]));
    where.report_accepted = true;
    if (rest.size() > 3 && rest[3] != "-") who.certificate_file = rest[3];
    if (rest.size() > 4) who.ca_file = rest[4];
    return true;
  }
};

bool run(const CommandLine &command) {
  const StopSignal signal;
  Provider provider(apns::Credentials(command.who), command.where);
  std::list<Client> clients;
  {
    Listener listener(command.path);
    std::cout << "ready: " << command.path << std::endl;
    serve(signal, listener, clients, provider);
    listener.welcome(clients);
  }
  // What was handed in before the signal is still pushed.
  provider.stop();
  for (Client &client : clients) client.hear(provider);
  return provider.finish();
}

} // namespace

int main(int argc, char **argv) {
  try {
    CommandLine command;
    if (!command.read(argc, argv)) {
      std::cerr << "usage: " << argv[0]
                << " [--protocol binary|http2] [--topic ID] [--p8 FILE --key-id ID --team-id ID]\n"
                   "       SOCKET HOST PORT [CERTIFICATE|- [CA]]\n";
      return 2;
    }
    return run(command) ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
