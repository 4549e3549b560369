/*
 * A provider daemon in C++ without threads, where only one epoll_wait() waits. It reads
 * notifications, a JSON object on each line, from a UNIX socket, pushes them through one session,
 * and logs each outcome. SIGTERM ends it when all outcomes are known; SIGHUP makes it read
 * certificate and keys again. README.md describes the lines and the log.
 *
 *   c++ -std=c++17 daemon.cpp -lapns -lnghttp2 -lcares -lssl -lcrypto -ljansson -o daemon
 *   daemon [--protocol http2|binary] [--topic ID] [--p8 FILE --key-id ID --team-id ID]
 *          SOCKET HOST PORT [CERTIFICATE|- [CA]]
 */
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <apns/apns.hpp>
#include <cerrno>
#include <iostream>
#include <list>
#include <map>
#include <stdexcept>
#include <system_error>

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t longest_line = 8192, longest_name = 64, most_clients = 64;
constexpr auto prove_after = 1000ms, drain_limit = 10000ms, close_limit = 1000ms;

/** A file descriptor that closes itself. */
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {
    if (fd < 0) throw std::system_error(errno, std::generic_category());
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    fcntl(fd, F_SETFL, O_NONBLOCK);
  }
  Descriptor(Descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

/** The event loop, with the interface that apns::Watch needs. */
class Loop {
 public:
  using Ready = std::function<void()>;

  void add(int fd, Ready ready) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.fd = fd;
    if (epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, fd, &event))
      throw std::system_error(errno, std::generic_category(), "epoll_ctl");
    ready_[fd] = std::move(ready);
  }
  void remove(int fd) {
    epoll_ctl(epoll_.fd(), EPOLL_CTL_DEL, fd, nullptr);
    ready_.erase(fd);
  }

  /** Waits for a readable descriptor, at most for `wait`; without limit if that is negative. */
  void turn(std::chrono::milliseconds wait) {
    epoll_event event = {};
    const int count = epoll_wait(epoll_.fd(), &event, 1, static_cast<int>(wait.count()));
    if (count < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "epoll_wait");
    if (count < 1) return;
    const Ready ready = ready_.at(event.data.fd); /* a copy, because it may remove itself */
    ready();
  }

 private:
  Descriptor epoll_{epoll_create1(0)};
  std::map<int, Ready> ready_;
};

using Watch = apns::Watch<Loop>;

/** The error in an invalid line. */
struct BadLine : std::runtime_error {
  using runtime_error::runtime_error;
};

/** A valid line. */
struct Push {
  apns::Token token;
  std::string name, payload;
  std::int64_t expiry = 0;
  std::int32_t deadline_ms = 0;
  std::uint8_t priority = 0;
  // HTTP/2 only; "" if the line does not have it.
  apns_push_type_t type = APNS_PUSH_TYPE_DEFAULT;
  std::string topic, collapse_id, apns_id;
};

apns_push_type_t push_type_of(std::string_view name) {
  for (int type = APNS_PUSH_TYPE_ALERT; type <= APNS_PUSH_TYPE_CONTROLS; type++)
    if (name == apns_push_type_text(static_cast<apns_push_type_t>(type)))
      return static_cast<apns_push_type_t>(type);
  throw BadLine("push_type is unknown");
}

/** Parses a line. Sets `name` to the line's id before anything else can throw. */
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
  int priority = 0, deadline_ms = 0;
  if (!line || json_unpack_ex(line.get(), &fault, JSON_STRICT,
                              "{s?s, s:s, s:o, s?I, s?i, s?i, s?s, s?s, s?s, s?s}", "id", &id,
                              "token", &hex, "payload", &payload, "expiry", &expiry, "priority",
                              &priority, "deadline_ms", &deadline_ms, "topic", &topic, "push_type",
                              &type, "collapse_id", &collapse_id, "apns_id", &apns_id)) {
    if (id && payload) name = id;
    throw BadLine(fault.text);
  }
  if (id) {
    const std::string_view given = id;
    if (given.empty() || given.size() > longest_name) throw BadLine("id must have 1 to 64 bytes");
    for (const char at : given) {
      const auto byte = static_cast<unsigned char>(at);
      if (byte < ' ' || byte == 0x7F) throw BadLine("id contains a control character");
    }
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
  push.deadline_ms = deadline_ms;
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

/** The session, and the log of each outcome. */
class Provider {
 public:
  Provider(const apns::Credentials &who, const apns::SessionOptions &where)
      : session_(who, where), is_http2_(where.protocol == APNS_PROTOCOL_HTTP2) {}

  /** Readable when process() has something to do. */
  int fd() const { return session_.fd(); }

  /** Starts to connect, so that an error in host or credentials shows before the first line. */
  void connect() {
    log_news([this] { session_.connect(); });
  }

  /** Reads certificate and keys again, from the same files. Notifications in flight are not
      affected. If the new credentials are invalid, the session keeps the old ones. */
  void renew(const apns::CredentialsOptions &who) {
    try {
      session_.use(apns::Credentials(who));
      std::cout << "renewed" << std::endl;
    } catch (const apns::Error &error) {
      std::cerr << "not renewed: " << error.what() << std::endl;
    }
  }

  /** Continues the session's work, and logs the outcomes. */
  void process() {
    log_news([this] { session_.process(); });
    if (take_outcomes()) is_full_ = false;
  }

  /** Handles a line. Returns false if it must wait; then it is handled again. */
  bool take(std::string_view text, std::string name) {
    try {
      const Push push = parse(text, name, is_http2_);
      if (is_refusing_) throw BadLine("the daemon ends");
      // The name is the user data, and comes back with the outcome.
      auto carried = std::make_unique<std::string>(push.name);
      apns::Notification notification(push.token, push.payload, carried.get());
      notification.expiry = push.expiry;
      notification.priority = push.priority;
      notification.deadline_ms = push.deadline_ms;
      notification.of_type(push.type);
      notification.to_topic(push.topic.c_str()).collapsing(push.collapse_id.c_str());
      notification.identified_by(push.apns_id.c_str());
      is_full_ = !send(notification);
      if (is_full_) return false;
      static_cast<void>(carried.release());
      taken_++;
    } catch (const apns::Error &error) {
      refuse(name, error.what());
    } catch (const BadLine &fault) {
      refuse(name, fault.what());
    }
    return true;
  }

  /** The session has no room until earlier notifications have their outcomes. */
  bool is_full() const { return is_full_; }

  void refuse(const std::string &name, std::string_view why) {
    std::cout << name << ": refused: " << why << std::endl;
    refused_++;
  }

  bool is_drained() { return session_.drain(0ms) == 0; }

  /** Refuses every line from now on. */
  void refuse_all() {
    is_refusing_ = true;
    is_full_ = false;
  }
  bool is_refusing() const { return is_refusing_; }

  /** Returns true when the session is closed, at most close_limit after the first call. */
  bool close() { return session_.close(close_limit); }

  /** Logs the totals. Returns whether all outcomes are known. */
  bool sum_up() {
    take_outcomes();
    std::cout << "drained: " << taken_ << " queued = " << accepted_ << " accepted + " << rejected_
              << " rejected + " << unknown_ << " unknown";
    if (expired_ > 0) std::cout << " + " << expired_ << " expired";
    std::cout << "; " << refused_ << " refused" << std::endl;
    return unknown_ + expired_ == 0;
  }

 private:
  /** Logs an error of a call. Nothing is lost: the session retries. */
  template <class Call>
  void log_news(Call call) {
    try {
      call();
    } catch (const apns::Error &error) {
      std::cerr << "waiting: " << error.what() << std::endl;
    }
  }

  /** Returns false if the session has no room. */
  bool send(const apns::Notification &notification) {
    for (;;) {
      apns::ErrorDetail error;
      const apns_status_t status = session_.try_send(notification, APNS_SEND_MORE, nullptr, &error);
      if (status == APNS_OK) return true;
      if (status != APNS_ERR_AGAIN && status != APNS_ERR_FULL) throw apns::Error(error);
      if (!take_outcomes()) return false;
    }
  }

  /** Logs all outcomes that have arrived, and returns false if there are none. */
  bool take_outcomes() {
    bool is_any = false;
    for (const apns::Event &event : session_.try_events()) {
      const std::unique_ptr<std::string> name(event.data<std::string>());
      is_any = true;
      std::cout << *name << ": ";
      if (event.is_accepted())
        accepted_++, std::cout << "accepted";
      else if (event.is_rejected())
        rejected_++, std::cout << "rejected: " << event.why();
      else if (event.is_expired())
        expired_++, std::cout << "expired: " << event.reason_text();
      else if (unknown_++, event.reason_text().empty())
        std::cout << "unknown: no response before the end";
      else
        std::cout << "unknown: " << event.reason_text();
      if (!event.id().empty()) std::cout << ", apns-id " << event.id();
      std::cout << std::endl;
    }
    return is_any;
  }

  apns::Session session_;
  const bool is_http2_;
  unsigned long taken_ = 0, accepted_ = 0, rejected_ = 0, unknown_ = 0, expired_ = 0, refused_ = 0;
  bool is_full_ = false, is_refusing_ = false;
};

/** A client's connection, read line by line. */
class Client {
 public:
  Client(Descriptor socket, unsigned long number) : socket_(std::move(socket)), number_(number) {}

  int fd() const { return socket_.fd(); }
  bool is_over() const { return has_ended_ && text_.empty(); }

  /** Linux still returns the data that the client had sent, and then the end. */
  void hear_no_more() { shutdown(fd(), SHUT_RD); }

  /** Reads only once, so that other clients are served. Returns false if lines must wait. */
  bool hear(Provider &provider) {
    char bytes[longest_line];
    const ssize_t count = read(fd(), bytes, sizeof bytes);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (count <= 0) has_ended_ = true;
    if (count > 0) text_.append(bytes, static_cast<std::size_t>(count));
    return take_lines(provider);
  }

  /** Handles all complete lines. Returns false if they must wait. */
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
  bool has_ended_ = false, is_skipping_ = false; /* is_skipping_: the rest of a long line */

 public:
  std::optional<Watch> watch; /* empty while the session has no room */
};

/** The socket for clients. Removes its file at the end. */
class Listener {
 public:
  explicit Listener(const std::string &path)
      : path_(path), socket_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
      throw std::system_error(ENAMETOOLONG, std::generic_category(), path);
    path.copy(address.sun_path, path.size());
    if (bind(fd(), reinterpret_cast<sockaddr *>(&address), sizeof address) ||
        listen(fd(), most_clients))
      throw std::system_error(errno, std::generic_category(), path);
  }
  ~Listener() { hide(); }

  int fd() const { return socket_.fd(); }

  /** Removes the file, so that no other client can connect. */
  void hide() {
    if (!path_.empty()) unlink(path_.c_str());
    path_.clear();
  }

  std::optional<Descriptor> accept() {
    const int accepted = ::accept(fd(), nullptr, nullptr);
    if (accepted < 0) return std::nullopt;
    return Descriptor(accepted);
  }

 private:
  std::string path_;
  Descriptor socket_;
};

/** A descriptor for SIGTERM, SIGINT and SIGHUP. */
Descriptor watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return Descriptor(signalfd(-1, &signals, 0));
}

/** The loop and everything that it watches. */
class Daemon {
 public:
  Daemon(const apns::CredentialsOptions &who, const apns::SessionOptions &where,
         const std::string &path)
      : signals_(watched_signals()),
        who_(who),
        provider_(apns::Credentials(who), where),
        listener_(path) {
    watch_signals_.emplace(loop_, signals_, [this] { take_signal(); });
    watch_provider_.emplace(loop_, provider_, [this] { process(); });
    watch_listener();
    std::cout << "ready: " << path << std::endl;
    provider_.connect();
  }

  /** Runs until the end. Returns whether all outcomes are known. */
  bool run() {
    while (!has_ended()) loop_.turn(time_left());
    return provider_.sum_up();
  }

 private:
  using At = std::list<Client>::iterator;

  void process() {
    const bool was_full = provider_.is_full();
    provider_.process();
    if (was_full && !provider_.is_full()) hear_again();
  }

  void watch_listener() {
    watch_listener_.emplace(loop_, *listener_, [this] { welcome(); });
  }

  void watch(At client) {
    client->watch.emplace(loop_, *client, [this, client] { hear(client); });
  }

  void welcome() {
    while (listener_ && clients_.size() < most_clients) {
      std::optional<Descriptor> socket = listener_->accept();
      if (!socket && end_) { /* every waiting connection is accepted */
        watch_listener_.reset();
        listener_.reset();
      }
      if (!socket) return;
      clients_.emplace_back(std::move(*socket), ++count_);
      if (end_) clients_.back().hear_no_more();
      if (!provider_.is_full()) watch(std::prev(clients_.end()));
    }
    watch_listener_.reset(); /* until a client leaves */
  }

  void hear(At client) {
    if (!client->hear(provider_)) return hear_nobody(client);
    if (client->is_over()) leave(client);
  }

  void leave(At client) {
    clients_.erase(client);
    if (listener_ && !watch_listener_) watch_listener();
  }

  /** While the session has no room, lines wait in the sockets. `first` is read first afterwards. */
  void hear_nobody(At first) {
    for (Client &client : clients_) client.watch.reset();
    clients_.splice(clients_.end(), clients_, clients_.begin(), first);
  }

  /** Reads the clients again when the session has room. */
  void hear_again() {
    for (At next = clients_.begin(); next != clients_.end();) {
      const At client = next++;
      if (!client->take_lines(provider_)) return hear_nobody(client);
      if (client->is_over())
        leave(client);
      else if (!client->watch)
        watch(client);
    }
  }

  void take_signal() {
    signalfd_siginfo signal;
    if (read(signals_.fd(), &signal, sizeof signal) != sizeof signal) return;
    if (signal.ssi_signo == SIGHUP)
      provider_.renew(who_);
    else
      stop();
  }

  /** Clients can no longer connect or send. Lines that they sent before are still pushed. */
  void stop() {
    end_ = Clock::now() + drain_limit;
    watch_signals_.reset();
    listener_->hide();
    for (Client &client : clients_) client.hear_no_more();
  }

  /** Takes the next step of the end: drain, then close. */
  bool has_ended() {
    if (!end_) return false;
    welcome();
    if (!provider_.is_refusing()) {
      const bool is_drained = !listener_ && clients_.empty() && provider_.is_drained();
      if (!is_drained && Clock::now() < *end_) return false;
      // Refuse the lines that still wait, so that each is logged.
      provider_.refuse_all();
      for (hear_again(); !clients_.empty(); welcome())
        while (!clients_.empty()) hear(clients_.begin());
    }
    return provider_.close();
  }

  /** The loop's timeout: the deadline of the end. The session's own deadlines make its descriptor
      readable. */
  std::chrono::milliseconds time_left() const {
    if (!end_ || provider_.is_refusing()) return -1ms;
    return std::max(0ms, std::chrono::ceil<std::chrono::milliseconds>(*end_ - Clock::now()));
  }

  // Each object outlives its watch.
  Loop loop_;
  Descriptor signals_;
  const apns::CredentialsOptions who_;
  Provider provider_;
  std::optional<Listener> listener_;
  std::list<Client> clients_;
  unsigned long count_ = 0;
  std::optional<Clock::time_point> end_;
  std::optional<Watch> watch_signals_, watch_provider_, watch_listener_;
};

/** The command line. */
struct CommandLine {
  apns::CredentialsOptions who;
  apns::SessionOptions where;
  std::string path;

  /** Returns false if the command line is invalid. */
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
    where.peer.host = rest[1];
    where.peer.port = static_cast<std::uint16_t>(std::stoi(rest[2]));
    where.peer.nonblocking = true;
    where.outcomes = APNS_OUTCOMES_EACH;
    // The binary interface never says that it accepted something, so what was in flight for so
    // long is proven, which costs a connection.
    where.binary.prove_after_ms = static_cast<std::int32_t>(prove_after.count());
    if (rest.size() > 3 && rest[3] != "-") who.certificate_file = rest[3];
    if (rest.size() > 4) who.ca_file = rest[4];
    return true;
  }
};

} // namespace

int main(int argc, char **argv) {
  try {
    CommandLine command;
    if (!command.read(argc, argv)) {
      std::cerr << "usage: " << argv[0]
                << " [--protocol http2|binary] [--topic ID] [--p8 FILE --key-id ID --team-id ID]\n"
                   "       SOCKET HOST PORT [CERTIFICATE|- [CA]]\n";
      return 2;
    }
    Daemon daemon(command.who, command.where, command.path);
    return daemon.run() ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
