/*
 * libapns for C++17 and later: <apns/apns.h> and <apns/binary.h> with objects that free themselves.
 *
 *     apns::Credentials who{{.certificate_file = "provider.pem"}}; // C++20; see below
 *     apns::Session session{who};
 *     apns::Token token = apns::Token::from_hex("<5f79cfda 4d01aa3a ...>");
 *     std::string json = apns::Payload{}.title("Chess").body("Your move").badge(9).json();
 *     std::cout << session.push({token, json}).describe() << '\n';
 *
 * It is only a header: every function calls one of the C header's, inline. The C header
 * describes what a call means, its limits and its errors; this one what C++ adds. Link
 * as in C: -lapns -lnghttp2 -lcares -lssl -lcrypto.
 *
 * Objects. Session, Credentials, Payload, Strings, Feedback and Channels own what the C function
 * _new or _open made. They move and do not copy. A moved-from object is empty, and
 * every call on it is APNS_ERR_ARGUMENT. get() lends the C object, release() gives it
 * away, and the constructor that takes one adopts it.
 *
 * Errors. Every call that can fail has two forms:
 *
 *   send(...)       throws apns::Error, which carries apns_error_t
 *   try_send(...)   never throws: returns apns_status_t; its last argument is an
 *                   apns_error_t for the detail, or none
 *
 * The object from try_make() and try_open() is false if they failed. In a program
 * without exceptions (-fno-exceptions, or APNS_NO_EXCEPTIONS defined before this
 * header) the functions that throw are not declared. The two modes are different inline
 * namespaces: files of one program may use different modes, but must not hand each
 * other objects. Nothing here needs RTTI. std::string and std::vector may throw
 * std::bad_alloc.
 *
 * Options are structures with the fields of the C structures under the same names. Set
 * them by name: as above in C++20, and in C++17
 *
 *     apns::SessionOptions where;
 *     where.peer.host = "localhost";
 *     where.tuning.retry_timeout_ms = 5000;
 *
 * An empty string, 0 and false mean the default. The structures hold their own strings.
 *
 * As in C, a call borrows the bytes and texts that it is given, and views that it
 * returns are valid as long as the C header says. Notification is a view too: token and
 * payload have to live until it is sent. Message owns them.
 *
 * Threads. A session is for one thread at a time. Client is for any number of them, and its
 * push_async() returns a std::future of the notification's outcome:
 *
 *     apns::Client client{who};
 *     std::future<apns::Event> outcome = client.push_async({token, json});
 *
 * Cost. Only calls that return std::string or std::vector allocate, and the objects are
 * as large as a pointer. A loop around try_send() has the same instructions as in C;
 * send() has one more, to make room for an error.
 */
#ifndef APNS_APNS_HPP
#define APNS_APNS_HPP

// In C a structure and a function share the names apns_session_stats, apns_channels_response and
// apns_session_metrics.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif
#include <apns/binary.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_span)
#include <span>
#endif

#if defined(__cpp_exceptions) && !defined(APNS_NO_EXCEPTIONS)
#define APNS_EXCEPTIONS 1
#include <poll.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>
#else
#define APNS_EXCEPTIONS 0
#endif

namespace apns {
#if APNS_EXCEPTIONS
/* Its version: two libraries in one process may have been compiled with two headers. */
inline namespace v1_throwing {
#else
inline namespace v1_quiet {
#endif

/** The version of the library in use; APNS_VERSION_STRING is the header's. */
inline std::string_view version() noexcept { return apns_version(); }

/** Returns the features that the library in use was built with: APNS_FEATURE_* bits. */
inline uint32_t features() noexcept { return apns_features(); }

/** The reason as APNs writes it, such as "BadDeviceToken". */
inline std::string_view reason_text(apns_reason_t reason) noexcept {
  return apns_reason_text(reason);
}

/** The reason for APNs's text; APNS_REASON_OTHER for any other text. */
inline apns_reason_t reason_from_text(std::string_view text) noexcept {
  return apns_reason_from_text(text.data(), text.size());
}

/** The HTTP status that APNs answers with for this reason; 0: the reason is not listed. */
inline int http_status(apns_reason_t reason) noexcept { return apns_reason_http_status(reason); }

/** The status of the binary interface that corresponds to this reason. */
inline apns_reject_t reject_of(apns_reason_t reason) noexcept { return apns_reason_reject(reason); }

/** The cause's name, such as "APNS_CAUSE_PEER_EXPIRED". */
inline std::string_view cause_name(apns_cause_t cause) noexcept { return apns_cause_name(cause); }
/** As apns_why_unquoted(); empty: messages quote it. */
inline std::string_view why_unquoted(std::string_view text) noexcept {
  const char *const words = apns_why_unquoted(text.data(), text.size());
  return words ? std::string_view(words) : std::string_view();
}
inline std::string_view log_kind_name(apns_log_kind_t kind) noexcept {
  return apns_log_kind_name(kind);
}
/** The longest time that times[index] of the metrics counts; the last place has no bound. */
inline std::chrono::microseconds metrics_bound(std::size_t index) noexcept {
  const uint64_t bound = apns_metrics_bound_us(index);
  constexpr auto longest = std::chrono::microseconds::max();
  return bound > static_cast<uint64_t>(longest.count())
             ? longest
             : std::chrono::microseconds(static_cast<int64_t>(bound));
}

/* ---- Errors ------------------------------------------------------------- */

/** An apns_error_t that is set up, for the try_ functions. */
struct ErrorDetail : apns_error_t {
  ErrorDetail() noexcept : apns_error_t APNS_ERROR_INIT {}

  apns_status_t code() const noexcept { return static_cast<apns_status_t>(status); }
  /** The status that a gateway would have refused the notification with; see apns_error_t. */
  apns_reject_t reject_code() const noexcept { return static_cast<apns_reject_t>(reject); }
  /** What exactly went wrong; see apns_cause_t. */
  apns_cause_t cause_code() const noexcept { return static_cast<apns_cause_t>(cause); }
  std::string_view text() const noexcept { return message; }
};

#if APNS_EXCEPTIONS

/** What went wrong. what() is the library's one line of text. */
class __attribute__((visibility("default"))) Error : public std::exception {
 public:
  explicit Error(const apns_error_t &detail) noexcept {
    detail_.status = detail.status;
    detail_.sys_errno = detail.sys_errno;
    detail_.tls_code = detail.tls_code;
    detail_.reject = detail.reject;
    detail_.cause = detail.cause;
    // Behind the NUL there may be old bytes of the stack.
    const std::string_view whole(detail.message, sizeof detail.message - 1);
    std::memcpy(detail_.message, detail.message, std::min(whole.find('\0'), whole.size()));
  }

  const char *what() const noexcept override { return detail_.message; }
  apns_status_t status() const noexcept { return detail_.code(); }
  /** The status that a gateway would have refused the notification with; see apns_error_t. */
  apns_reject_t reject() const noexcept { return detail_.reject_code(); }
  /** What exactly went wrong; see apns_cause_t. */
  apns_cause_t cause() const noexcept { return detail_.cause_code(); }

  /** Whether the same call may succeed later without a change by the caller. */
  bool is_retryable() const noexcept { return apns_status_is_retryable(status()) != 0; }

  const apns_error_t &detail() const noexcept { return detail_; }

 private:
  ErrorDetail detail_;
};

/** From Channels, if APNs refused the request: why, and the identifier for questions to Apple. */
class __attribute__((visibility("default"))) RejectedError : public Error {
 public:
  RejectedError(const apns_error_t &detail, const apns_channels_response_t &response) noexcept
      : Error(detail), response_(response) {}

  apns_reason_t reason() const noexcept { return static_cast<apns_reason_t>(response_.reason); }
  /** The reason as APNs wrote it, even if it is not listed. */
  std::string_view reason_text() const noexcept { return response_.reason_text; }
  int http_status() const noexcept { return response_.http_status; }
  std::string_view request_id() const noexcept { return response_.request_id; }
  /** After how long the request may be repeated; 0: there is no point in it. */
  std::chrono::seconds retry_after() const noexcept {
    return std::chrono::seconds{response_.retry_after_s};
  }

 private:
  apns_channels_response_t response_;
};

/** From Session::send_many(): some notifications before the one at fault may have been taken. */
class __attribute__((visibility("default"))) SendManyError : public Error {
 public:
  SendManyError(const apns_error_t &detail, std::size_t taken) noexcept
      : Error(detail), taken_(taken) {}

  /** How many the session took; each will have an outcome. */
  std::size_t taken() const noexcept { return taken_; }

 private:
  std::size_t taken_;
};

#endif

/** Not a part of the interface. */
namespace detail {

/** A call that fails fills in the whole error, so only its size has to be set. */
struct Slot {
  apns_error_t error;
  Slot() noexcept { error.size = sizeof error; }
};

#if APNS_EXCEPTIONS
[[noreturn]] __attribute__((cold, noinline)) inline void raise(const apns_error_t &error) {
  throw Error(error);
}

inline void check(apns_status_t status, const Slot &slot) {
  if (status != APNS_OK) raise(slot.error);
}

/** For calls that continue later with `nonblocking`: false if it is not done yet. */
inline bool is_done(apns_status_t status, const Slot &slot) {
  if (status == APNS_ERR_AGAIN) return false;
  check(status, slot);
  return true;
}
#endif

/** Refuses a mistake that C would not notice: "host holds a NUL". */
inline apns_status_t refuse(apns_error_t *error, const char *name, const char *fault,
                            apns_reject_t reject = APNS_REJECT_NONE) noexcept {
  if (!error) return APNS_ERR_ARGUMENT;
  error->status = APNS_ERR_ARGUMENT;
  error->sys_errno = 0;
  error->tls_code = 0;
  error->reject = reject;
  error->cause = APNS_CAUSE_NONE;
  std::memset(error->message, 0, sizeof error->message);
  std::strncat(error->message, name, 64);
  std::strncat(error->message, fault, 128);
  return APNS_ERR_ARGUMENT;
}

inline apns_status_t out_of_memory(apns_error_t *error) noexcept {
  refuse(error, "out of memory", "");
  if (error) {
    error->status = APNS_ERR_MEMORY;
    error->cause = APNS_CAUSE_MEMORY;
  }
  return APNS_ERR_MEMORY;
}

/** An empty view may have no address, which C would take for a missing text. */
inline const char *start(std::string_view text) noexcept { return text.data() ? text.data() : ""; }

inline std::int32_t timeout(std::chrono::milliseconds wait) noexcept {
  if (wait.count() < 0) return wait.count() == -1 ? APNS_TIMEOUT_INFINITE : APNS_TIMEOUT_DEFAULT;
  constexpr auto most = std::numeric_limits<std::int32_t>::max();
  return wait.count() > most ? most : static_cast<std::int32_t>(wait.count());
}

/** Turns options into C's; their texts end in NUL there. */
struct Filling {
  apns_error_t *error;
  apns_status_t status = APNS_OK;

  const char *text(const std::string &given, const char *name) noexcept {
    if (given.empty()) return nullptr;
    if (given.find('\0') != std::string::npos) status = refuse(error, name, " holds a NUL");
    return given.c_str();
  }
};

/** Frees the C objects, for std::unique_ptr. */
struct Free {
  void operator()(apns_strings_t *made) const noexcept { apns_strings_free(made); }
  void operator()(apns_payload_t *made) const noexcept { apns_payload_free(made); }
  void operator()(apns_credentials_t *made) const noexcept { apns_credentials_free(made); }
  void operator()(apns_session_t *made) const noexcept { apns_session_free(made); }
  void operator()(apns_feedback_t *made) const noexcept { apns_feedback_free(made); }
  void operator()(apns_channels_t *made) const noexcept { apns_channels_free(made); }
};

/** The base of all six classes: it owns one C object. */
template <class Object>
class Owner {
 public:
  Owner(Owner &&) noexcept = default;
  Owner &operator=(Owner &&) noexcept = default;

  /** Whether there is an object: false after a move, or if try_make() failed. */
  explicit operator bool() const noexcept { return object_ != nullptr; }

  /** The C object, lent: this still owns and frees it. */
  Object *get() const noexcept { return object_.get(); }

  /** Gives the C object to the caller, who frees it as in C. */
  Object *release() noexcept { return object_.release(); }

 protected:
  explicit Owner(Object *object) noexcept : object_(object) {}
  ~Owner() = default;

 private:
  std::unique_ptr<Object, Free> object_;
};

/** The texts of a list as C takes them, without an allocation for up to 16. */
class TextList {
 public:
  template <class Texts>
  explicit TextList(const Texts &given) noexcept
      : count_(static_cast<std::size_t>(std::distance(std::begin(given), std::end(given)))) {
    if (count_ > few) {
      texts_.reset(new (std::nothrow) const char *[count_]);
      lengths_.reset(new (std::nothrow) std::size_t[count_]);
      if (!texts_ || !lengths_) return;
    }
    std::size_t index = 0;
    for (const auto &one : given) {
      const std::string_view text = one;
      (texts_ ? texts_.get() : few_texts_)[index] = start(text);
      (lengths_ ? lengths_.get() : few_lengths_)[index] = text.size();
      index++;
    }
  }

  bool is_there() const noexcept { return count_ <= few || (texts_ && lengths_); }
  const char *const *texts() const noexcept { return texts_ ? texts_.get() : few_texts_; }
  const std::size_t *lengths() const noexcept { return lengths_ ? lengths_.get() : few_lengths_; }
  std::size_t count() const noexcept { return count_; }

 private:
  static constexpr std::size_t few = 16;
  std::size_t count_;
  const char *few_texts_[few];
  std::size_t few_lengths_[few];
  std::unique_ptr<const char *[]> texts_;
  std::unique_ptr<std::size_t[]> lengths_;
};

template <class Value>
inline constexpr bool is_text = std::is_convertible_v<const Value &, std::string_view>;

/** Whether std::data() and std::size() give bytes: std::vector<std::uint8_t>, std::span. */
template <class Element>
inline constexpr bool is_byte = false;
template <class Element>
inline constexpr bool is_byte<const Element *> =
    std::is_same_v<Element, unsigned char> || std::is_same_v<Element, char> ||
    std::is_same_v<Element, signed char> || std::is_same_v<Element, std::byte>;
template <class Container, class = void>
inline constexpr bool holds_bytes = false;
template <class Container>
inline constexpr bool
    holds_bytes<Container, std::void_t<decltype(std::data(std::declval<const Container &>())),
                                       decltype(std::size(std::declval<const Container &>()))>> =
        is_byte<decltype(std::data(std::declval<const Container &>()))>;

/** The end of a range that is read until nothing is left. */
struct End {};

/**
 * A range of what a call returns one by one; `Source` is that call. It can be walked once, and
 * each item overwrites the one before.
 */
template <class Item, class Source, bool Throws>
class Pulled {
 public:
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Item;
    using difference_type = std::ptrdiff_t;
    using pointer = const Item *;
    using reference = const Item &;

    iterator() noexcept = default;

    reference operator*() const noexcept { return range_->item_; }
    pointer operator->() const noexcept { return &range_->item_; }
    iterator &operator++() noexcept(!Throws) {
      advance();
      return *this;
    }
    void operator++(int) noexcept(!Throws) { advance(); }

    friend bool operator==(const iterator &here, End) noexcept { return here.is_over(); }
    friend bool operator!=(const iterator &here, End) noexcept { return !here.is_over(); }
    friend bool operator==(End, const iterator &here) noexcept { return here.is_over(); }
    friend bool operator!=(End, const iterator &here) noexcept { return !here.is_over(); }

   private:
    friend class Pulled;

    iterator(Pulled *range, Source source, apns_error_t *error) noexcept(!Throws)
        : range_(range), source_(source), error_(error) {
      advance();
    }

    bool is_over() const noexcept { return status_ != APNS_OK; }

    void advance() noexcept(!Throws) {
#if APNS_EXCEPTIONS
      if constexpr (Throws) {
        Slot slot;
        status_ = source_(range_->item_, &slot.error);
        if (status_ != APNS_OK) {
          range_->status_ = status_;
          if (status_ != APNS_DONE) raise(slot.error);
        }
        return;
      }
#endif
      status_ = source_(range_->item_, error_);
      if (status_ != APNS_OK) range_->status_ = status_;
    }

    // These are here and not in the range, because the library writes to the range's item:
    // so they stay in registers, as in a loop in C.
    Pulled *range_ = nullptr;
    Source source_ = {};
    apns_error_t *error_ = nullptr;
    apns_status_t status_ = APNS_DONE;
  };

  explicit Pulled(Source source, apns_error_t *error = nullptr) noexcept
      : source_(source), error_(error) {}
  Pulled(const Pulled &) = delete;
  Pulled &operator=(const Pulled &) = delete;

  /** Takes the first item. */
  iterator begin() noexcept(!Throws) { return iterator(this, source_, error_); }
  End end() const noexcept { return {}; }

  /** Why the loop ended: APNS_DONE if nothing was left. */
  apns_status_t status() const noexcept { return status_; }

 private:
  Item item_;
  Source source_;
  apns_error_t *error_;
  apns_status_t status_ = APNS_OK;
};

} // namespace detail

/* ---- Bytes and device tokens -------------------------------------------- */

/**
 * A view of bytes, which the caller keeps: from any contiguous container, or a pointer and a
 * length. A string literal is taken as text, without its NUL.
 */
class Bytes {
 public:
  constexpr Bytes() noexcept = default;
  constexpr Bytes(const void *bytes, std::size_t length) noexcept
      : bytes_(bytes), length_(length) {}
  constexpr Bytes(std::string_view text) noexcept : bytes_(text.data()), length_(text.size()) {}
  constexpr Bytes(const char *text) noexcept : Bytes(std::string_view(text)) {}

  /** std::vector<std::uint8_t>, std::array, std::string, std::span, an array ... */
  template <class Container,
            std::enable_if_t<detail::holds_bytes<Container> &&
                                 !std::is_convertible_v<const Container &, const char *>,
                             int> = 0>
  constexpr Bytes(const Container &holder) noexcept
      : bytes_(std::data(holder)), length_(std::size(holder)) {}

  constexpr const void *data() const noexcept { return bytes_; }
  constexpr std::size_t size() const noexcept { return length_; }
  constexpr bool empty() const noexcept { return length_ == 0; }
  std::string_view text() const noexcept {
    return {length_ ? static_cast<const char *>(bytes_) : "", length_};
  }

 private:
  const void *bytes_ = nullptr;
  std::size_t length_ = 0;
};

/**
 * A view of a device token's bytes, which the caller keeps. Text does not convert to it: its hex
 * digits would be pushed as if they were the token. Token::from_hex() reads them.
 */
class TokenBytes : public Bytes {
 public:
  constexpr TokenBytes() noexcept = default;
  constexpr TokenBytes(const void *bytes, std::size_t length) noexcept : Bytes(bytes, length) {}
  TokenBytes(std::string_view text) = delete;

  /** Token, std::vector<std::uint8_t>, std::array, std::span, an array ... */
  template <class Container,
            std::enable_if_t<detail::holds_bytes<Container> &&
                                 !std::is_convertible_v<const Container &, std::string_view>,
                             int> = 0>
  constexpr TokenBytes(const Container &holder) noexcept : Bytes(holder) {}
};

/** The bytes as lowercase hex; "" for none. */
inline std::string to_hex(TokenBytes token) {
  std::string text(2 * token.size() + 1, '\0');
  std::size_t length = 0;
  if (apns_token_to_hex(token.data(), token.size(), &text[0], text.size(), &length, nullptr))
    length = 0;
  text.resize(length);
  return text;
}

/** The bytes as base64 with its padding; "" for none. */
inline std::string to_base64(TokenBytes token) {
  std::string text((token.size() + 2) / 3 * 4 + 1, '\0');
  std::size_t length = 0;
  if (apns_token_to_base64(token.data(), token.size(), &text[0], text.size(), &length, nullptr))
    length = 0;
  text.resize(length);
  return text;
}

/** A device token that owns its 1 to APNS_TOKEN_MAX bytes, or none. Copies, compares, hashes. */
class Token {
 public:
  Token() noexcept = default;

#if APNS_EXCEPTIONS
  explicit Token(TokenBytes bytes) { take(&Token::assign_bytes, bytes.text()); }
  static Token from_hex(std::string_view text) {
    Token token;
    token.take(&Token::assign_hex, text);
    return token;
  }
  static Token from_base64(std::string_view text) {
    Token token;
    token.take(&Token::assign_base64, text);
    return token;
  }
#endif

  /** Without exceptions. A call that fails leaves the token unchanged. */
  apns_status_t try_assign(TokenBytes bytes, apns_error_t *error = nullptr) noexcept {
    return assign_bytes(bytes.text(), error);
  }
  apns_status_t try_assign_hex(std::string_view text, apns_error_t *error = nullptr) noexcept {
    return assign_hex(text, error);
  }
  apns_status_t try_assign_base64(std::string_view text, apns_error_t *error = nullptr) noexcept {
    return assign_base64(text, error);
  }

  const std::uint8_t *data() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return length_; }
  bool empty() const noexcept { return length_ == 0; }
  const std::uint8_t *begin() const noexcept { return bytes_; }
  const std::uint8_t *end() const noexcept { return bytes_ + length_; }

  std::string hex() const { return to_hex(*this); }
  std::string base64() const { return to_base64(*this); }
  std::string_view view() const noexcept { return Bytes(*this).text(); }

  friend bool operator==(const Token &one, const Token &other) noexcept {
    return one.view() == other.view();
  }
  friend bool operator!=(const Token &one, const Token &other) noexcept { return !(one == other); }
  friend bool operator<(const Token &one, const Token &other) noexcept {
    return one.view() < other.view();
  }

 private:
  apns_status_t assign_bytes(std::string_view bytes, apns_error_t *error) noexcept {
    if (bytes.empty())
      return detail::refuse(error, "token", " is empty", APNS_REJECT_MISSING_TOKEN);
    if (bytes.size() > sizeof bytes_)
      return detail::refuse(error, "token", " is too long", APNS_REJECT_INVALID_TOKEN_SIZE);
    std::memmove(bytes_, bytes.data(), bytes.size());
    length_ = static_cast<std::uint8_t>(bytes.size());
    return APNS_OK;
  }
  apns_status_t assign_hex(std::string_view text, apns_error_t *error) noexcept {
    return assign(&apns_token_from_hex, text, error);
  }
  apns_status_t assign_base64(std::string_view text, apns_error_t *error) noexcept {
    return assign(&apns_token_from_base64, text, error);
  }

  template <class Read>
  apns_status_t assign(Read read, std::string_view text, apns_error_t *error) noexcept {
    std::uint8_t bytes[APNS_TOKEN_MAX];
    std::size_t length = 0;
    const apns_status_t status =
        read(detail::start(text), text.size(), bytes, sizeof bytes, &length, error);
    return status != APNS_OK ? status
                             : assign_bytes({reinterpret_cast<char *>(bytes), length}, error);
  }

#if APNS_EXCEPTIONS
  using Assign = apns_status_t (Token::*)(std::string_view, apns_error_t *) noexcept;
  void take(Assign read, std::string_view text) {
    detail::Slot slot;
    detail::check((this->*read)(text, &slot.error), slot);
  }
#endif

  std::uint8_t length_ = 0;
  std::uint8_t bytes_[APNS_TOKEN_MAX] = {};
};

/* ---- Localized strings -------------------------------------------------- */

/** A Localizable.strings file. */
class Strings : public detail::Owner<apns_strings_t> {
 public:
  explicit Strings(apns_strings_t *adopted) noexcept : Owner(adopted) {}

#if APNS_EXCEPTIONS
  /** From memory. */
  explicit Strings(Bytes bytes) : Owner(nullptr) {
    detail::Slot slot;
    *this = try_make(bytes, &slot.error);
    if (!*this) detail::raise(slot.error);
  }

  static Strings open(const std::string &file) {
    detail::Slot slot;
    Strings strings = try_open(file, &slot.error);
    if (!strings) detail::raise(slot.error);
    return strings;
  }

  std::string_view get(std::string_view key) const {
    detail::Slot slot;
    std::string_view text;
    detail::check(try_get(key, text, &slot.error), slot);
    return text;
  }

  /** The value with `args` filled in: format("GAME_PLAY_REQUEST_FORMAT", {"Jenna", "Frank"}). */
  std::string format(std::string_view key, std::initializer_list<std::string_view> args) const {
    return format(key, args.begin(), args.size());
  }
#if defined(__cpp_lib_span)
  std::string format(std::string_view key, std::span<const std::string_view> args) const {
    return format(key, args.data(), args.size());
  }
#endif
  std::string format(std::string_view key, const std::string_view *args, std::size_t count) const {
    detail::Slot slot;
    // C's arguments end in NUL.
    std::vector<std::string> held(args, args + count);
    std::vector<const char *> texts;
    for (const std::string &text : held) {
      if (text.find('\0') != std::string::npos) {
        detail::refuse(&slot.error, "an argument", " holds a NUL");
        detail::raise(slot.error);
      }
      texts.push_back(text.c_str());
    }
    std::string made(64, '\0');
    std::size_t length = 0;
    apns_status_t status = APNS_OK;
    while ((status = try_format(key, texts.data(), count, &made[0], made.size(), &length,
                                &slot.error)) == APNS_ERR_BUFFER_SMALL)
      made.resize(length);
    detail::check(status, slot);
    made.resize(length);
    return made;
  }
#endif

  static Strings try_make(Bytes bytes, apns_error_t *error = nullptr) noexcept {
    apns_strings_t *made = nullptr;
    apns_strings_new(detail::start(bytes.text()), bytes.size(), &made, error);
    return Strings(made);
  }

  static Strings try_open(const std::string &file, apns_error_t *error = nullptr) noexcept {
    apns_strings_t *made = nullptr;
    detail::Filling filling{error};
    const char *name = filling.text(file, "file");
    if (filling.status == APNS_OK) apns_strings_open(name, &made, error);
    return Strings(made);
  }

  apns_status_t try_get(std::string_view key, std::string_view &text_out,
                        apns_error_t *error = nullptr) const noexcept {
    const char *text = nullptr;
    std::size_t length = 0;
    const apns_status_t status =
        apns_strings_get(get(), detail::start(key), key.size(), &text, &length, error);
    if (status == APNS_OK) text_out = {text, length};
    return status;
  }

  /** As apns_strings_format(), into the caller's buffer. */
  apns_status_t try_format(std::string_view key, const char *const *args, std::size_t count,
                           char *text_out, std::size_t capacity, std::size_t *length_out,
                           apns_error_t *error = nullptr) const noexcept {
    return apns_strings_format(get(), detail::start(key), key.size(), args, count, text_out,
                               capacity, length_out, error);
  }

  using Owner::get;
};

/* ---- Payload ------------------------------------------------------------ */

/** apns_payload_options_t. */
struct PayloadOptions {
  std::size_t limit = 0;
  std::optional<std::string> suffix = std::nullopt; /* none given: an ellipsis; "": nothing */
  bool truncate = false;
};

/** A mistake in a payload, and where it is; apns_payload_finding_t. */
struct Finding : apns_payload_finding_t {
  Finding() noexcept : apns_payload_finding_t APNS_PAYLOAD_FINDING_INIT {}
  bool is_error() const noexcept { return severity == APNS_FINDING_ERROR; }
  std::string_view text() const noexcept { return message; }
};
static_assert(sizeof(Finding) == sizeof(apns_payload_finding_t));

/** A payload builder. The calls that throw can be chained. */
class Payload : public detail::Owner<apns_payload_t> {
 public:
  explicit Payload(apns_payload_t *adopted) noexcept : Owner(adopted) {}

#if APNS_EXCEPTIONS
  explicit Payload(const PayloadOptions &options = {}) : Owner(nullptr) {
    detail::Slot slot;
    *this = try_make(options, &slot.error);
    if (!*this) detail::raise(slot.error);
  }

  /* Setters for Apple's keys, by name. */
  Payload &alert(std::string_view text) { return set(APNS_KEY_ALERT, text); }
  Payload &title(std::string_view text) { return set(APNS_KEY_TITLE, text); }
  Payload &subtitle(std::string_view text) { return set(APNS_KEY_SUBTITLE, text); }
  Payload &body(std::string_view text) { return set(APNS_KEY_BODY, text); }
  Payload &sound(std::string_view name) { return set(APNS_KEY_SOUND, name); }
  Payload &category(std::string_view name) { return set(APNS_KEY_CATEGORY, name); }
  Payload &thread_id(std::string_view name) { return set(APNS_KEY_THREAD_ID, name); }
  Payload &badge(std::int64_t number) { return set(APNS_KEY_BADGE, number); }
  Payload &content_available() { return set(APNS_KEY_CONTENT_AVAILABLE, 1); }
  Payload &mutable_content() { return set(APNS_KEY_MUTABLE_CONTENT, 1); }
  Payload &content_changed() { return set(APNS_KEY_CONTENT_CHANGED, 1); }
  Payload &critical_sound(std::string_view name, double volume) {
    detail::Slot slot;
    detail::check(try_critical_sound(name, volume, &slot.error), slot);
    return *this;
  }

  /* Body and title as keys of the app's Localizable.strings. */
  Payload &loc_key(std::string_view key, std::initializer_list<std::string_view> args = {}) {
    set(APNS_KEY_LOC_KEY, key);
    return args.size() ? set(APNS_KEY_LOC_ARGS, args) : *this;
  }
  Payload &title_loc_key(std::string_view key, std::initializer_list<std::string_view> args = {}) {
    set(APNS_KEY_TITLE_LOC_KEY, key);
    return args.size() ? set(APNS_KEY_TITLE_LOC_ARGS, args) : *this;
  }

  /** Sets any of Apple's keys to the kind of value that it takes; see try_set(). */
  template <class Value>
  Payload &set(apns_payload_key_t key, const Value &value) {
    detail::Slot slot;
    detail::check(try_set(key, value, &slot.error), slot);
    return *this;
  }
  Payload &set(apns_payload_key_t key, std::initializer_list<std::string_view> texts) {
    return set<std::initializer_list<std::string_view>>(key, texts);
  }

  /** Sets one of Apple's keys to a JSON object, as apns_payload_set_json(). */
  Payload &set_json(apns_payload_key_t key, std::string_view json) {
    detail::Slot slot;
    detail::check(try_set_json(key, json, &slot.error), slot);
    return *this;
  }

  /** Adds one of the app's own keys; see try_add(). */
  template <class Value>
  Payload &add(std::string_view name, const Value &value) {
    detail::Slot slot;
    detail::check(try_add(name, value, &slot.error), slot);
    return *this;
  }
  Payload &add_json(std::string_view name, std::string_view json) {
    detail::Slot slot;
    detail::check(try_add_json(name, json, &slot.error), slot);
    return *this;
  }

  Payload &remove(apns_payload_key_t key) {
    detail::Slot slot;
    detail::check(try_remove(key, &slot.error), slot);
    return *this;
  }

  /** The JSON, shortened if it is too long and the options allow it. */
  std::string json() const {
    std::string json;
    write(json);
    return json;
  }

  /**
   * Writes the JSON over what `json` held. One string serves any number of payloads, and after
   * a while needs no allocation. Returns how many bytes of the text were cut.
   */
  std::size_t write(std::string &json) const {
    detail::Slot slot;
    std::size_t length = 0, cut = 0;
    if (json.capacity() < APNS_PAYLOAD_MAX_LISTING) json.reserve(APNS_PAYLOAD_MAX_LISTING);
    json.resize(json.capacity());
    apns_status_t status = APNS_OK;
    while ((status = try_write(&json[0], json.size(), &length, &cut, &slot.error)) ==
           APNS_ERR_BUFFER_SMALL)
      json.resize(length);
    json.resize(status == APNS_OK ? length : 0);
    detail::check(status, slot);
    return cut;
  }

  /** Writes the JSON into a buffer and returns its length. */
  std::size_t write(void *buffer, std::size_t capacity, std::size_t *cut_out = nullptr) const {
    detail::Slot slot;
    std::size_t length = 0;
    detail::check(try_write(buffer, capacity, &length, cut_out, &slot.error), slot);
    return length;
  }
#if defined(__cpp_lib_span)
  std::size_t write(std::span<char> buffer, std::size_t *cut_out = nullptr) const {
    return write(buffer.data(), buffer.size(), cut_out);
  }
#endif
#endif

  static Payload try_make(const PayloadOptions &options = {},
                          apns_error_t *error = nullptr) noexcept {
    apns_payload_options_t given = APNS_PAYLOAD_OPTIONS_INIT;
    given.limit = options.limit;
    if (options.suffix) given.suffix = options.suffix->data();
    if (options.suffix) given.suffix_length = options.suffix->size();
    given.truncate = options.truncate;
    apns_payload_t *made = nullptr;
    apns_payload_new(&given, &made, error);
    return Payload(made);
  }

  /**
   * Sets one of Apple's keys: to a text (anything that a std::string_view is made from), an
   * integer or bool, a floating-point number, a container of texts, or nullptr, which only
   * APNS_KEY_ACTION_LOC_KEY takes.
   */
  template <class Value>
  apns_status_t try_set(apns_payload_key_t key, const Value &value,
                        apns_error_t *error = nullptr) noexcept {
    if constexpr (std::is_same_v<Value, std::nullptr_t>) {
      return apns_payload_set_string(get(), key, nullptr, 0, error);
    } else if constexpr (detail::is_text<Value>) {
      const std::string_view text = value;
      return apns_payload_set_string(get(), key, detail::start(text), text.size(), error);
    } else if constexpr (std::is_integral_v<Value>) {
      if (!fits(value)) return detail::refuse(error, "number", " takes more than 64 bits");
      return apns_payload_set_integer(get(), key, static_cast<std::int64_t>(value), error);
    } else if constexpr (std::is_floating_point_v<Value>) {
      return apns_payload_set_double(get(), key, static_cast<double>(value), error);
    } else {
      const detail::TextList list(value);
      if (!list.is_there()) return detail::out_of_memory(error);
      return apns_payload_set_strings(get(), key, list.texts(), list.lengths(), list.count(),
                                      error);
    }
  }

  apns_status_t try_set_json(apns_payload_key_t key, std::string_view json,
                             apns_error_t *error = nullptr) noexcept {
    return apns_payload_set_json(get(), key, detail::start(json), json.size(), error);
  }

  apns_status_t try_critical_sound(std::string_view name, double volume,
                                   apns_error_t *error = nullptr) noexcept {
    return apns_payload_set_critical_sound(get(), detail::start(name), name.size(), volume, error);
  }

  apns_status_t try_remove(apns_payload_key_t key, apns_error_t *error = nullptr) noexcept {
    return apns_payload_remove(get(), key, error);
  }

  /** Adds one of the app's own keys: a text, a bool, an integer, a number, or nullptr for null. */
  template <class Value>
  apns_status_t try_add(std::string_view name, const Value &value,
                        apns_error_t *error = nullptr) noexcept {
    const char *start = detail::start(name);
    if constexpr (std::is_same_v<Value, std::nullptr_t>) {
      return apns_payload_add_null(get(), start, name.size(), error);
    } else if constexpr (detail::is_text<Value>) {
      const std::string_view text = value;
      return apns_payload_add_string(get(), start, name.size(), detail::start(text), text.size(),
                                     error);
    } else if constexpr (std::is_same_v<Value, bool>) {
      return apns_payload_add_boolean(get(), start, name.size(), value, error);
    } else if constexpr (std::is_integral_v<Value>) {
      if (!fits(value)) return detail::refuse(error, "number", " takes more than 64 bits");
      return apns_payload_add_integer(get(), start, name.size(), static_cast<std::int64_t>(value),
                                      error);
    } else {
      static_assert(std::is_floating_point_v<Value>, "see add_json() for all else");
      return apns_payload_add_double(get(), start, name.size(), static_cast<double>(value), error);
    }
  }

  apns_status_t try_add_json(std::string_view name, std::string_view json,
                             apns_error_t *error = nullptr) noexcept {
    return apns_payload_add_json(get(), detail::start(name), name.size(), detail::start(json),
                                 json.size(), error);
  }

  apns_status_t try_write(void *buffer, std::size_t capacity, std::size_t *length_out,
                          std::size_t *cut_out = nullptr,
                          apns_error_t *error = nullptr) const noexcept {
    return apns_payload_write(get(), buffer, capacity, length_out, cut_out, error);
  }

  /** Removes all keys and keeps options and memory. */
  void reset() noexcept { apns_payload_reset(get()); }

  /** Removes all of the app's own keys. */
  void remove_custom() noexcept { apns_payload_remove_custom(get()); }

 private:
  template <class Value>
  static bool fits(Value value) noexcept {
    static_assert(sizeof(Value) <= sizeof(std::int64_t));
    if constexpr (std::is_signed_v<Value> || sizeof(Value) < sizeof(std::int64_t)) {
      return static_cast<void>(value), true;
    } else {
      return value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    }
  }
};

/** As apns_payload_check(), into the caller's array, which may be empty. */
inline apns_status_t try_check_payload(Bytes json, std::size_t limit, Finding *findings,
                                       std::size_t capacity, std::size_t *count_out,
                                       apns_error_t *error = nullptr) noexcept {
  return apns_payload_check(detail::start(json.text()), json.size(), limit, findings, capacity,
                            count_out, error);
}

#if APNS_EXCEPTIONS
/** All errors and warnings about a payload; empty if it is good. */
inline std::vector<Finding> check_payload(Bytes json, std::size_t limit = 0) {
  std::vector<Finding> findings(4);
  for (;;) {
    detail::Slot slot;
    std::size_t count = 0;
    const apns_status_t status =
        try_check_payload(json, limit, findings.data(), findings.size(), &count, &slot.error);
    if (status != APNS_OK && (status != APNS_ERR_ARGUMENT || count == 0)) detail::raise(slot.error);
    const bool is_all = count <= findings.size();
    findings.resize(count);
    if (is_all) return findings;
  }
}
#endif

/* ---- Credentials -------------------------------------------------------- */

/**
 * apns_credentials_options_t. The library wipes its copies of a passphrase, but not the one in
 * here; passphrase_callback needs no copy in here.
 */
struct CredentialsOptions {
  std::string certificate_file = {};
  Bytes certificate_bytes = {};
  std::string key_file = {};
  Bytes key_bytes = {};
  std::optional<std::string> passphrase = std::nullopt;
  std::string ca_file = {};
  std::string ca_directory = {};
  apns_tls_version_t tls_min = APNS_TLS_DEFAULT;
  apns_tls_version_t tls_max = APNS_TLS_DEFAULT;
  bool dangerously_accept_any_peer = false;
  bool accept_expired = false;

  /* As apns_passphrase_t. Its exceptions come out of the constructor; try_make() treats an
     exception as no passphrase. */
  std::function<int(const char *file, char *buffer, std::size_t capacity)> passphrase_callback = {};

  std::string token_key_file = {};
  Bytes token_key_bytes = {};
  std::string key_id = {};
  std::string team_id = {};

  std::string crl_file = {};
  std::string crl_directory = {};
  std::vector<std::string> pinned_keys = {}; /* none: any key will do */
  int security_level = 0;

  std::string token_cache_file = {};

  /* As in C: called as long as credentials or a session of theirs exist, so what the contexts point
     to has to live longer. No exception may leave them. */
  apns_provider_token_t token_callback = nullptr;
  void *token_context = nullptr;
  apns_sign_t sign_callback = nullptr;
  void *sign_context = nullptr;
  struct evp_pkey_st *token_private_key = nullptr;
  struct evp_pkey_st *private_key = nullptr;
};

/** Describes the provider's certificate and signing key; its texts belong to the credentials. */
struct CredentialsDescription : apns_credentials_description_t {
  using Time = std::chrono::system_clock::time_point;

  CredentialsDescription() noexcept
      : apns_credentials_description_t APNS_CREDENTIALS_DESCRIPTION_INIT {}

  bool has_certificate() const noexcept { return subject != nullptr; }
  bool has_token() const noexcept { return key_id != nullptr; }
  std::string_view subject_text() const noexcept { return subject ? subject : ""; }
  bool is_for(apns_environment_t environment) const noexcept {
    return (environments >> environment & 1) != 0;
  }
  Time begins() const noexcept { return Time{} + std::chrono::seconds{not_before}; }
  Time expires() const noexcept { return Time{} + std::chrono::seconds{not_after}; }

  /** for (std::string_view topic : description.topic_list()) */
  struct Topics {
    const char *const *first;
    std::size_t count;
    const char *const *begin() const noexcept { return first; }
    const char *const *end() const noexcept { return first + count; }
    std::size_t size() const noexcept { return count; }
  };
  Topics topic_list() const noexcept { return {topics, topic_count}; }
};

/** The provider's identity and trusted CA certificates. Its sessions may outlive it. */
class Credentials : public detail::Owner<apns_credentials_t> {
 public:
  explicit Credentials(apns_credentials_t *adopted) noexcept : Owner(adopted) {}

#if APNS_EXCEPTIONS
  explicit Credentials(const CredentialsOptions &options) : Owner(nullptr) {
    detail::Slot slot;
    Asking asking{&options.passphrase_callback, nullptr};
    *this = make(options, asking, &slot.error);
    if (asking.thrown) std::rethrow_exception(asking.thrown);
    if (!*this) detail::raise(slot.error);
  }

  CredentialsDescription describe() const {
    detail::Slot slot;
    CredentialsDescription description;
    detail::check(try_describe(description, &slot.error), slot);
    return description;
  }
#endif

  static Credentials try_make(const CredentialsOptions &options,
                              apns_error_t *error = nullptr) noexcept {
    Asking asking{};
    asking.callback = &options.passphrase_callback;
    return make(options, asking, error);
  }

  apns_status_t try_describe(CredentialsDescription &description_out,
                             apns_error_t *error = nullptr) const noexcept {
    return apns_credentials_describe(get(), &description_out, error);
  }

 private:
  struct Asking {
    const std::function<int(const char *, char *, std::size_t)> *callback;
#if APNS_EXCEPTIONS
    std::exception_ptr thrown;
#endif
  };

  /** No exception may pass through the library. */
  static int ask(const char *file, char *buffer, std::size_t capacity, void *context) noexcept {
    Asking *asking = static_cast<Asking *>(context);
#if APNS_EXCEPTIONS
    try {
      return (*asking->callback)(file, buffer, capacity);
    } catch (...) {
      asking->thrown = std::current_exception();
      return -1;
    }
#else
    return (*asking->callback)(file, buffer, capacity);
#endif
  }

  static Credentials make(const CredentialsOptions &options, Asking &asking,
                          apns_error_t *error) noexcept {
    apns_credentials_options_t given = APNS_CREDENTIALS_OPTIONS_INIT;
    detail::Filling filling{error};
    given.certificate_file = filling.text(options.certificate_file, "certificate_file");
    given.certificate_bytes = options.certificate_bytes.data();
    given.certificate_length = options.certificate_bytes.size();
    given.key_file = filling.text(options.key_file, "key_file");
    given.key_bytes = options.key_bytes.data();
    given.key_length = options.key_bytes.size();
    if (options.passphrase) {
      given.passphrase = filling.text(*options.passphrase, "passphrase");
      if (!given.passphrase) given.passphrase = "";
    }
    given.ca_file = filling.text(options.ca_file, "ca_file");
    given.ca_directory = filling.text(options.ca_directory, "ca_directory");
    given.tls_min = options.tls_min;
    given.tls_max = options.tls_max;
    given.dangerously_accept_any_peer = options.dangerously_accept_any_peer;
    given.accept_expired = options.accept_expired;
    if (options.passphrase_callback) {
      given.passphrase_callback = &ask;
      given.passphrase_context = &asking;
    }
    given.token_key_file = filling.text(options.token_key_file, "token_key_file");
    given.token_key_bytes = options.token_key_bytes.data();
    given.token_key_length = options.token_key_bytes.size();
    given.key_id = filling.text(options.key_id, "key_id");
    given.team_id = filling.text(options.team_id, "team_id");
    given.crl_file = filling.text(options.crl_file, "crl_file");
    given.crl_directory = filling.text(options.crl_directory, "crl_directory");
    /* One more than the library takes: it refuses 101 without reading them. */
    const char *pins[101] = {};
    given.pinned_key_count = options.pinned_keys.size();
    for (std::size_t index = 0; index < given.pinned_key_count && index < 101; index++) {
      pins[index] = filling.text(options.pinned_keys[index], "pinned_keys");
      if (!pins[index]) pins[index] = "";
    }
    given.pinned_keys = options.pinned_keys.empty() ? nullptr : pins;
    given.security_level = options.security_level;
    given.token_cache_file = filling.text(options.token_cache_file, "token_cache_file");
    given.token_callback = options.token_callback;
    given.token_context = options.token_context;
    given.sign_callback = options.sign_callback;
    given.sign_context = options.sign_context;
    given.token_private_key = options.token_private_key;
    given.private_key = options.private_key;
    apns_credentials_t *made = nullptr;
    if (filling.status == APNS_OK) apns_credentials_new(&given, &made, error);
    return Credentials(made);
  }
};

/* ---- Session ------------------------------------------------------------ */

/** apns_peer_t. */
struct Peer {
  std::string host = {};
  std::string server_name = {};
  std::uint16_t port = 0;
  std::uint32_t connect_timeout_ms = 0;
  std::string proxy = {}; /* "http://user:password@proxy.example:3128" */
  bool proxy_from_environment = false;
  bool nonblocking = false;
  std::uint32_t wait_max_ms = 0;
  std::string addresses = {}; /* "17.188.1.1, 2620:149::1": no name is looked up */
  apns_lookup_t lookup = nullptr;
  void *lookup_context = nullptr;
};

/** apns_tuning_t. */
struct Tuning {
  std::uint32_t write_timeout_ms = 0;
  std::uint32_t answer_timeout_ms = 0;
  std::int32_t ping_after_ms = 0;
  std::int32_t keepalive_ms = 0;
  std::int32_t retry_timeout_ms = 0;
  std::uint32_t connects_per_minute = 0;
  std::uint32_t reconnect_pause_max_ms = 0;
  std::uint32_t payload_max = 0;
  std::string retry_schedule = {}; /* pauses in seconds, such as "1,2,4" */
  std::string server_error_schedule = {};
};

/** apns_binary_options_t. */
struct BinaryOptions {
  apns_format_t format = APNS_FORMAT_DEFAULT;
  std::uint32_t quiet_period_ms = 0;
  bool zero_proves = false;
  bool no_standby = false;
  std::int32_t prove_after_ms = 0;
};

/** apns_session_options_t. */
struct SessionOptions {
  Peer peer = {};
  apns_environment_t environment = APNS_ENVIRONMENT_PRODUCTION;
  apns_protocol_t protocol = APNS_PROTOCOL_HTTP2;
  std::string topic = {};
  bool device_order = false;
  std::uint32_t connections = 0;
  std::uint32_t window_bytes = 0;
  std::int32_t checks = 0; /* bits of apns_check_t; 0: all; -1: none */
  apns_delivery_t delivery = APNS_DELIVERY_AT_LEAST_ONCE;
  apns_outcomes_t outcomes = APNS_OUTCOMES_ALL;
  apns_log_t log = nullptr; /* must not throw */
  void *log_context = nullptr;
  apns_log_level_t log_level = APNS_LOG_DEFAULT;
  /* How long the destructor waits for outcomes; 0: it drops unresolved notifications. exit() and
     std::quick_exit() destroy no local object. */
  std::uint32_t close_timeout_ms = 5000;
  apns_user_data_free_t user_data_free = nullptr; /* must not throw */
  apns_outcome_t on_outcome = nullptr;            /* must not throw */
  void *outcome_context = nullptr;
  std::int32_t deadline_ms = 0; /* 0: five minutes, -1: none */
  BinaryOptions binary = {};
  Tuning tuning = {};
};

namespace detail {
/** The texts stay the options'. */
inline apns_peer_t peer_of(const Peer &peer, Filling &filling) noexcept {
  apns_peer_t given = APNS_PEER_INIT;
  given.host = filling.text(peer.host, "host");
  given.server_name = filling.text(peer.server_name, "server_name");
  given.port = peer.port;
  given.connect_timeout_ms = peer.connect_timeout_ms;
  given.proxy = filling.text(peer.proxy, "proxy");
  given.proxy_from_environment = peer.proxy_from_environment;
  given.nonblocking = peer.nonblocking;
  given.wait_max_ms = peer.wait_max_ms;
  given.addresses = filling.text(peer.addresses, "addresses");
  given.lookup = peer.lookup;
  given.lookup_context = peer.lookup_context;
  return given;
}

inline apns_tuning_t tuning_of(const Tuning &tuning, Filling &filling) noexcept {
  apns_tuning_t given = APNS_TUNING_INIT;
  given.write_timeout_ms = tuning.write_timeout_ms;
  given.answer_timeout_ms = tuning.answer_timeout_ms;
  given.ping_after_ms = tuning.ping_after_ms;
  given.keepalive_ms = tuning.keepalive_ms;
  given.retry_timeout_ms = tuning.retry_timeout_ms;
  given.connects_per_minute = tuning.connects_per_minute;
  given.reconnect_pause_max_ms = tuning.reconnect_pause_max_ms;
  given.payload_max = tuning.payload_max;
  given.retry_schedule = filling.text(tuning.retry_schedule, "retry_schedule");
  given.server_error_schedule = filling.text(tuning.server_error_schedule, "server_error_schedule");
  return given;
}

inline apns_binary_options_t binary_of(const BinaryOptions &binary) noexcept {
  apns_binary_options_t given = APNS_BINARY_OPTIONS_INIT;
  given.format = binary.format;
  given.quiet_period_ms = binary.quiet_period_ms;
  given.zero_proves = binary.zero_proves;
  given.no_standby = binary.no_standby;
  given.prove_after_ms = binary.prove_after_ms;
  return given;
}
} // namespace detail

/** One notification to one device or channel: an apns_notification_t, and a view of token and
 * payload. */
struct Notification : apns_notification_t {
  Notification() noexcept : apns_notification_t APNS_NOTIFICATION_INIT {}
  Notification(const apns_notification_t &plain) noexcept : apns_notification_t(plain) {}
  Notification(TokenBytes device, Bytes json, void *data = nullptr) noexcept : Notification() {
    to(device).saying(json).with(data);
  }

  Notification &to(TokenBytes device) noexcept {
    token = device.data();
    token_length = device.size();
    return *this;
  }
  Notification &saying(Bytes json) noexcept {
    payload = json.data();
    payload_length = json.size();
    return *this;
  }

  /** Sets what comes back with the outcome, unchanged; see Event::data(). */
  Notification &with(void *data) noexcept {
    user_data = data;
    return *this;
  }

  /** Until when the gateway keeps trying. */
  Notification &until(std::chrono::system_clock::time_point time) noexcept {
    expiry = std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
    return *this;
  }

  /** The gateway tries once and does not store it. */
  Notification &once() noexcept {
    expiry = APNS_EXPIRY_ONCE;
    return *this;
  }

  /** It has its outcome this long after it was queued, instead of after the session's
   * `deadline_ms`. */
  Notification &within(std::chrono::milliseconds time) noexcept {
    const auto most = std::chrono::milliseconds(INT32_MAX);
    deadline_ms = static_cast<std::int32_t>((time < most ? time : most).count());
    if (deadline_ms < 1) deadline_ms = 1;
    return *this;
  }

  /** 10: at once; 5: considers the device's power. */
  Notification &at_priority(std::uint8_t number) noexcept {
    priority = number;
    return *this;
  }

  /* The rest is for HTTP/2; the texts end in NUL and have to live until it is sent. */

  Notification &of_type(apns_push_type_t type) noexcept {
    push_type = static_cast<std::uint8_t>(type);
    return *this;
  }
  std::string_view type_text() const noexcept {
    return apns_push_type_text(static_cast<apns_push_type_t>(push_type));
  }
  Notification &to_topic(const char *name) noexcept {
    topic = name;
    return *this;
  }
  Notification &collapsing(const char *id) noexcept {
    collapse_id = id;
    return *this;
  }
  Notification &identified_by(const char *uuid) noexcept {
    apns_id = uuid;
    return *this;
  }

  /**
   * Makes it a broadcast to a channel's subscribers, instead of a device:
   * session.send(apns::Notification{}.to_channel(id).saying(json))
   */
  Notification &to_channel(const char *id) noexcept {
    channel_id = id;
    return *this;
  }
};
static_assert(sizeof(Notification) == sizeof(apns_notification_t));

/** One notification that owns its token, its payload and its texts: Message{token, json}. */
struct Message {
  Token token = {};
  std::string payload = {}; /* JSON */
  std::string topic = {};
  apns_push_type_t push_type = APNS_PUSH_TYPE_DEFAULT;
  std::int64_t expiry = 0; /* as apns_notification_t has it, as the next two */
  std::uint8_t priority = 0;
  void *user_data = nullptr;
  std::string collapse_id = {};
  std::string apns_id = {};
  std::string channel_id = {}; /* for a broadcast, in place of a token */

#if APNS_EXCEPTIONS
  /** It as the calls of a session take it, valid as long as this is there and unchanged. */
  Notification view() const {
    detail::Slot slot;
    Notification notification;
    detail::check(try_view(notification, &slot.error), slot);
    return notification;
  }
#endif

  apns_status_t try_view(Notification &view_out, apns_error_t *error = nullptr) const noexcept {
    detail::Filling filling{error};
    Notification view;
    if (!token.empty()) view.to(token);
    view.saying(payload).with(user_data).at_priority(priority).of_type(push_type);
    view.expiry = expiry;
    view.to_topic(filling.text(topic, "topic"));
    view.collapsing(filling.text(collapse_id, "collapse_id"));
    view.identified_by(filling.text(apns_id, "apns_id"));
    view.to_channel(filling.text(channel_id, "channel_id"));
    if (filling.status == APNS_OK) view_out = view;
    return filling.status;
  }
};

/** How a notification ended: an apns_event_t. */
struct Event : apns_event_t {
  Event() noexcept : apns_event_t APNS_EVENT_INIT {}
  /** Copies one, such as in the callback `on_outcome`. */
  explicit Event(const apns_event_t &event) noexcept : apns_event_t(event) {
    size = sizeof(apns_event_t);
  }

  bool is_accepted() const noexcept { return kind == APNS_EVENT_ACCEPTED; }
  bool is_rejected() const noexcept { return kind == APNS_EVENT_REJECTED; }
  bool is_unknown() const noexcept { return kind == APNS_EVENT_UNKNOWN; }
  bool is_cancelled() const noexcept { return kind == APNS_EVENT_CANCELLED; }
  bool is_expired() const noexcept { return kind == APNS_EVENT_EXPIRED; }
  /** The kind as a word, such as "accepted". */
  std::string_view kind_text() const noexcept {
    return apns_event_kind_text(static_cast<apns_event_kind_t>(kind));
  }
  /** Remove the token from your list: see apns_event_has_invalid_token(). */
  bool has_invalid_token() const noexcept { return apns_event_has_invalid_token(this) != 0; }

  /** Why it was rejected, in the binary interface's numbers. */
  apns_reject_t reject() const noexcept { return static_cast<apns_reject_t>(apns_event_t::reject); }
  std::string_view reject_text() const noexcept { return apns_reject_text(reject()); }

  /* What today's service answered, besides http_status; HTTP/2 only. */

  /** Why it was rejected, in HTTP/2's reasons. */
  apns_reason_t reason() const noexcept { return static_cast<apns_reason_t>(apns_event_t::reason); }
  /** The reason as APNs wrote it, even if it is not listed; "" without one. */
  std::string_view reason_text() const noexcept { return apns_event_t::reason_text; }
  /** Why in words, for both interfaces: reason_text(), or reject_text() if that is "". */
  std::string_view why() const noexcept {
    return reason_text().empty() ? reject_text() : reason_text();
  }
  /** The notification's identifier; of a broadcast its apns-request-id. */
  std::string_view id() const noexcept { return apns_id; }
  /** By which Apple's console finds it; "" if APNs gave none, as in production. */
  std::string_view unique_id() const noexcept { return apns_event_t::unique_id; }
  /** Since when the device is gone; the epoch if unknown. */
  std::chrono::system_clock::time_point gone_since() const noexcept {
    return std::chrono::system_clock::time_point{} + std::chrono::seconds{timestamp};
  }

  /** After how long it may be sent again; 0: there is no point in it, or nobody knows. */
  std::chrono::seconds retry_after() const noexcept { return std::chrono::seconds{retry_after_s}; }

  /** The outcome in one line, such as "rejected: BadDeviceToken (HTTP 400)". */
  std::string describe() const {
    char text[160];
    return {text, apns_event_describe(this, text, sizeof text)};
  }

  /** The notification's user data. */
  template <class Data>
  Data *data() const noexcept {
    return static_cast<Data *>(user_data);
  }
};

/** A device that no longer has the app. */
struct GoneDevice : apns_gone_device_t {
  GoneDevice() noexcept : apns_gone_device_t APNS_GONE_DEVICE_INIT {}

  TokenBytes bytes() const noexcept { return {token, token_length}; }
  std::string hex() const { return to_hex(bytes()); }
  std::chrono::system_clock::time_point time() const noexcept {
    return std::chrono::system_clock::time_point{} + std::chrono::seconds{timestamp};
  }
};

/**
 * A provider's session with one gateway. Its destructor waits for outcomes, up to close_timeout_ms.
 *
 * With `nonblocking` no call waits, and the program's event loop watches fd(). connect(), flush()
 * and close() then return false, and drain() how many have no outcome yet, until process() has
 * brought it about. A send for which the window has no room throws Error with APNS_ERR_AGAIN;
 * try_send() returns it.
 */
class Session : public detail::Owner<apns_session_t> {
  struct NextEvent {
    apns_session_t *session;
    std::int32_t timeout_ms;
    apns_status_t operator()(Event &event, apns_error_t *error) const noexcept {
      return apns_session_next_event(session, &event, timeout_ms, error);
    }
  };

 public:
  using Milliseconds = std::chrono::milliseconds;

  /** For a timeout: that of APNS_TIMEOUT_DEFAULT, or for ever. */
  static constexpr Milliseconds usual{APNS_TIMEOUT_DEFAULT}, forever{APNS_TIMEOUT_INFINITE};

  explicit Session(apns_session_t *adopted) noexcept : Owner(adopted) {}

#if APNS_EXCEPTIONS
  explicit Session(const Credentials &credentials, const SessionOptions &options = {})
      : Owner(nullptr) {
    detail::Slot slot;
    *this = try_make(credentials, options, &slot.error);
    if (!*this) detail::raise(slot.error);
  }

  /**
   * Other credentials for every connection from now on; no notification is lost or sent twice.
   * See apns_session_use_credentials().
   */
  void use(const Credentials &credentials) {
    detail::Slot slot;
    detail::check(try_use(credentials, &slot.error), slot);
  }

  /** HTTP/2: at most `most` connections from now on. See apns_session_limit_connections(). */
  void limit_connections(uint32_t most) {
    detail::Slot slot;
    detail::check(try_limit_connections(most, &slot.error), slot);
  }

  /** Returns true; with `nonblocking` false if it is not connected yet. */
  bool connect() {
    detail::Slot slot;
    return detail::is_done(try_connect(&slot.error), slot);
  }

  /** Returns the identifier that names the notification in its event. */
  std::uint32_t send(const Notification &notification, unsigned flags = 0) {
    detail::Slot slot;
    std::uint32_t identifier = 0;
    detail::check(try_send(notification, flags, &identifier, &slot.error), slot);
    return identifier;
  }

  /**
   * Sends with a builder's payload, written straight into the session's window; `cut_out`
   * receives how many bytes of its text were cut.
   */
  std::uint32_t send(const Notification &notification, const Payload &payload, unsigned flags = 0,
                     std::size_t *cut_out = nullptr) {
    detail::Slot slot;
    std::uint32_t identifier = 0;
    detail::check(try_send(notification, payload, flags, &identifier, cut_out, &slot.error), slot);
    return identifier;
  }

  /**
   * Sends one notification and returns its outcome, within `timeout` for all of it. Throws an Error
   * if it was not taken. See apns_session_push(). Other outcomes stay for next_event().
   *
   * With `wait_max_ms`, an Error with APNS_ERR_AGAIN means that it was taken: call continue_push().
   */
  Event push(const Notification &notification, Milliseconds timeout = usual) {
    detail::Slot slot;
    Event event;
    detail::check(try_push(notification, event, timeout, &slot.error), slot);
    return event;
  }

  /** With `wait_max_ms`: continues to wait for the outcome of push(). */
  Event continue_push(Milliseconds timeout) {
    detail::Slot slot;
    Event event;
    detail::check(try_continue_push(event, timeout, &slot.error), slot);
    return event;
  }

  /** Sends an array; SendManyError has how many were taken before the one at fault. */
  void send_many(const apns_notification_t *notifications, std::size_t count, unsigned flags = 0) {
    detail::Slot slot;
    std::size_t taken = 0;
    if (try_send_many(notifications, count, flags, &taken, &slot.error) != APNS_OK)
      raise_many(slot.error, taken);
  }
#if defined(__cpp_lib_span)
  void send_many(std::span<const Notification> notifications, unsigned flags = 0) {
    send_many(notifications.data(), notifications.size(), flags);
  }
#endif

  /** Returns true; with `nonblocking` false if something is not written yet. */
  bool flush() {
    detail::Slot slot;
    return detail::is_done(try_flush(&slot.error), slot);
  }

  /**
   * Waits until every notification has an outcome, and returns how many are unresolved: 0, or
   * more if `timeout` passed first, which is not an error, or with `nonblocking`. Throws
   * Error if the gateway cannot be reached.
   */
  std::size_t drain(Milliseconds timeout) {
    detail::Slot slot;
    std::size_t unresolved = 0;
    const apns_status_t status = try_drain(timeout, &unresolved, &slot.error);
    if (status != APNS_ERR_TIMEOUT) detail::is_done(status, slot);
    return unresolved;
  }

  /**
   * Takes back the notification with that identifier, or with 0 all of the session, as
   * apns_session_cancel() does. Returns how many ended by this call; their events bring
   * `user_data` back.
   */
  std::size_t cancel(std::uint32_t identifier = 0) {
    detail::Slot slot;
    std::size_t count = 0;
    detail::is_done(try_cancel(identifier, &count, &slot.error), slot);
    return count;
  }

  /** The next outcome, within `timeout`, or none: while (auto event = session.next_event()) */
  std::optional<Event> next_event(Milliseconds timeout = Milliseconds{0}) {
    detail::Slot slot;
    std::optional<Event> event(std::in_place);
    const apns_status_t status = try_next_event(*event, timeout, &slot.error);
    if (status == APNS_OK) return event;
    if (status != APNS_DONE) detail::raise(slot.error);
    return std::nullopt;
  }

  /** All outcomes there are, waiting up to `timeout` for each. */
  auto events(Milliseconds timeout = Milliseconds{0}) noexcept {
    return detail::Pulled<Event, NextEvent, true>(NextEvent{get(), detail::timeout(timeout)});
  }

  /** The next device that APNs reported as gone (410), or none. HTTP/2 only. */
  std::optional<GoneDevice> next_gone() {
    detail::Slot slot;
    std::optional<GoneDevice> device(std::in_place);
    const apns_status_t status = try_next_gone(*device, &slot.error);
    if (status == APNS_OK) return device;
    if (status != APNS_DONE) detail::raise(slot.error);
    return std::nullopt;
  }

  apns_session_stats_t stats() const {
    detail::Slot slot;
    apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
    detail::check(try_stats(stats, &slot.error), slot);
    return stats;
  }

  /** Metrics for a monitoring system. */
  apns_session_metrics_t metrics() const {
    detail::Slot slot;
    apns_session_metrics_t metrics = APNS_SESSION_METRICS_INIT;
    detail::check(try_metrics(metrics, &slot.error), slot);
    return metrics;
  }

  /** Returns true; with `nonblocking` false if the gateway has not answered everything yet. */
  bool close(Milliseconds timeout) {
    detail::Slot slot;
    return detail::is_done(try_close(timeout, &slot.error), slot);
  }

  /**
   * With `nonblocking`: does what can be done now. False: the session has closed. Throws Error
   * if a connection failed, by which nothing is lost: the session continues automatically.
   */
  bool process() {
    detail::Slot slot;
    const apns_status_t status = try_process(&slot.error);
    if (status != APNS_DONE) detail::check(status, slot);
    return status != APNS_DONE;
  }
#endif

  /** With `nonblocking`: readable whenever process() has something to do; else -1. */
  int fd() const noexcept { return apns_session_fd(get()); }

  /** With `nonblocking`: in how many ms process() is due; -1: not before fd() is readable. */
  int timeout_ms() const noexcept { return apns_session_timeout_ms(get()); }

  /** process() with its status: APNS_DONE if the session has closed, or the last failure. */
  apns_status_t try_process(apns_error_t *error = nullptr) noexcept {
    return apns_session_process(get(), error);
  }

  /** Makes fd() readable; any thread may call it, and a signal handler. */
  apns_status_t wake() noexcept { return apns_session_wake(get()); }

  static Session try_make(const Credentials &credentials, const SessionOptions &options = {},
                          apns_error_t *error = nullptr) noexcept {
    apns_session_options_t given = APNS_SESSION_OPTIONS_INIT;
    detail::Filling filling{error};
    const apns_binary_options_t binary = detail::binary_of(options.binary);
    const apns_tuning_t tuning = detail::tuning_of(options.tuning, filling);
    given.peer = detail::peer_of(options.peer, filling);
    given.environment = options.environment;
    given.protocol = options.protocol;
    given.topic = filling.text(options.topic, "topic");
    given.device_order = options.device_order;
    given.connections = options.connections;
    given.window_bytes = options.window_bytes;
    given.checks = options.checks;
    given.delivery = options.delivery;
    given.outcomes = options.outcomes;
    given.log = options.log;
    given.log_context = options.log_context;
    given.log_level = options.log_level;
    given.close_timeout_ms = options.close_timeout_ms;
    given.user_data_free = options.user_data_free;
    given.on_outcome = options.on_outcome;
    given.outcome_context = options.outcome_context;
    given.deadline_ms = options.deadline_ms;
    given.binary = &binary;
    given.tuning = &tuning;
    apns_session_t *made = nullptr;
    if (filling.status == APNS_OK) apns_session_new(&given, credentials.get(), &made, error);
    return Session(made);
  }

  apns_status_t try_use(const Credentials &credentials, apns_error_t *error = nullptr) noexcept {
    return apns_session_use_credentials(get(), credentials.get(), error);
  }

  apns_status_t try_limit_connections(uint32_t most, apns_error_t *error = nullptr) noexcept {
    return apns_session_limit_connections(get(), most, error);
  }

  apns_status_t try_connect(apns_error_t *error = nullptr) noexcept {
    return apns_session_connect(get(), error);
  }

  /**
   * For sendPayload(): an SSL that stands for the session, which owns it; see
   * apns_session_ssl().
   */
  struct ssl_st *ssl() noexcept {
    return apns_session_ssl(get());
  }

  apns_status_t try_send(const Notification &notification, unsigned flags = 0,
                         std::uint32_t *identifier_out = nullptr,
                         apns_error_t *error = nullptr) noexcept {
    return apns_session_send(get(), &notification, flags, identifier_out, error);
  }

  apns_status_t try_send(const Notification &notification, const Payload &payload,
                         unsigned flags = 0, std::uint32_t *identifier_out = nullptr,
                         std::size_t *cut_out = nullptr, apns_error_t *error = nullptr) noexcept {
    return apns_session_send_payload(get(), &notification, payload.get(), flags, identifier_out,
                                     cut_out, error);
  }

  apns_status_t try_push(const Notification &notification, apns_event_t &event_out,
                         Milliseconds timeout = usual, apns_error_t *error = nullptr) noexcept {
    return apns_session_push(get(), &notification, detail::timeout(timeout), &event_out, error);
  }

  apns_status_t try_continue_push(apns_event_t &event_out, Milliseconds timeout,
                                  apns_error_t *error = nullptr) noexcept {
    return apns_session_push(get(), nullptr, detail::timeout(timeout), &event_out, error);
  }

  apns_status_t try_send_many(const apns_notification_t *notifications, std::size_t count,
                              unsigned flags, std::size_t *taken_out,
                              apns_error_t *error = nullptr) noexcept {
    return apns_session_send_many(get(), notifications, count, flags, taken_out, error);
  }
#if defined(__cpp_lib_span)
  apns_status_t try_send_many(std::span<const Notification> notifications, unsigned flags,
                              std::size_t *taken_out, apns_error_t *error = nullptr) noexcept {
    return try_send_many(notifications.data(), notifications.size(), flags, taken_out, error);
  }
#endif

  apns_status_t try_flush(apns_error_t *error = nullptr) noexcept {
    return apns_session_flush(get(), error);
  }

  apns_status_t try_drain(Milliseconds timeout, std::size_t *unresolved_out = nullptr,
                          apns_error_t *error = nullptr) noexcept {
    return apns_session_drain(get(), detail::timeout(timeout), unresolved_out, error);
  }

  apns_status_t try_cancel(std::uint32_t identifier = 0, std::size_t *cancelled_out = nullptr,
                           apns_error_t *error = nullptr) noexcept {
    return apns_session_cancel(get(), identifier, cancelled_out, error);
  }

  apns_status_t try_next_gone(apns_gone_device_t &device_out,
                              apns_error_t *error = nullptr) noexcept {
    return apns_session_next_gone(get(), &device_out, error);
  }

  apns_status_t try_next_event(apns_event_t &event_out, Milliseconds timeout = Milliseconds{0},
                               apns_error_t *error = nullptr) noexcept {
    return apns_session_next_event(get(), &event_out, detail::timeout(timeout), error);
  }

  /** All outcomes there are; after the loop status() is why it ended. */
  auto try_events(Milliseconds timeout = Milliseconds{0}, apns_error_t *error = nullptr) noexcept {
    return detail::Pulled<Event, NextEvent, false>(NextEvent{get(), detail::timeout(timeout)},
                                                   error);
  }

  apns_status_t try_stats(apns_session_stats_t &stats_out,
                          apns_error_t *error = nullptr) const noexcept {
    return apns_session_stats(get(), &stats_out, error);
  }

  apns_status_t try_metrics(apns_session_metrics_t &metrics_out,
                            apns_error_t *error = nullptr) const noexcept {
    return apns_session_metrics(get(), &metrics_out, error);
  }

  apns_status_t try_close(Milliseconds timeout, apns_error_t *error = nullptr) noexcept {
    return apns_session_close(get(), detail::timeout(timeout), error);
  }

 private:
#if APNS_EXCEPTIONS
  [[noreturn]] __attribute__((cold, noinline)) static void raise_many(const apns_error_t &error,
                                                                      std::size_t taken) {
    throw SendManyError(error, taken);
  }
#endif
};

/* ---- Client ------------------------------------------------------------- */

#if APNS_EXCEPTIONS
/**
 * A session for any number of threads, which runs in a separate thread. Each push returns the
 * future of its outcome. A program with an event loop needs no Client: it watches a Session.
 *
 * The log and the callbacks of the credentials run in the client's thread, and must not throw.
 * After fork() the child must neither use nor destroy it.
 */
class Client {
 public:
  using Milliseconds = std::chrono::milliseconds;

  /** The client sets `nonblocking`, and reports all outcomes by futures, not by `on_outcome`. */
  explicit Client(const Credentials &credentials, SessionOptions options = {})
      : close_within_(options.close_timeout_ms), room_within_(patience_of(options)) {
    options.peer.nonblocking = true;
    options.outcomes = APNS_OUTCOMES_EACH;
    options.on_outcome = nullptr;
    options.close_timeout_ms = 0;
    session_ = Session(credentials, options);
    thread_ = std::thread([this] { run(); });
  }
  Client(const Client &) = delete;
  Client &operator=(const Client &) = delete;

  /** As close() within the options' close_timeout_ms. */
  ~Client() { close(Milliseconds{close_within_}); }

  /**
   * Takes a notification and returns a future of its outcome, without a wait for the network. While
   * 1,024 notifications wait to be sent, it waits for room, up to connect_timeout_ms and
   * write_timeout_ms together; then it throws Error with APNS_ERR_FULL. The future throws Error if
   * the library refuses the notification. The event has the message's user_data.
   */
  std::future<Event> push_async(Message message) {
    auto push = std::make_unique<Push>(Push{std::move(message), {}});
    std::future<Event> outcome = push->outcome.get_future();
    {
      std::unique_lock<std::mutex> lock(mutex_);
      const bool is_room = room_.wait_for(
          lock, room_within_, [this] { return given_.size() < given_max || is_closing_; });
      if (is_closing_) raise(APNS_ERR_CLOSED, "the client was closed");
      if (!is_room) raise(APNS_ERR_FULL, "too many notifications wait to be sent");
      given_.push_back(std::move(push));
    }
    session_.wake();
    return outcome;
  }

  /** The same, and waits for the outcome. */
  Event push(Message message) { return push_async(std::move(message)).get(); }

  /**
   * Takes no more notifications, waits up to `timeout` until all have their outcome, and ends. The
   * others are then cancelled if nothing of them was written, otherwise unknown.
   */
  void close(Milliseconds timeout) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!is_closing_) deadline_ = Clock::now() + timeout;
      is_closing_ = true;
    }
    room_.notify_all();
    session_.wake();
    const std::lock_guard<std::mutex> joining(joining_);
    if (thread_.joinable()) thread_.join();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t given_max = 1024;

  struct Push {
    Message message;
    std::promise<Event> outcome;
  };
  using Pushes = std::deque<std::unique_ptr<Push>>;

  static Milliseconds patience_of(const SessionOptions &options) {
    const auto usual = [](std::uint32_t ms) { return Milliseconds{ms ? ms : 10000}; };
    return usual(options.peer.connect_timeout_ms) + usual(options.tuning.write_timeout_ms);
  }

  [[noreturn]] static void raise(apns_status_t status, const char *text) {
    ErrorDetail error;
    detail::refuse(&error, text, "");
    error.status = status;
    throw Error(error);
  }

  void run() noexcept {
    Pushes waiting;
    for (;;) {
      /* First, since it clears wake(): a push that comes later wakes again. */
      session_.try_process();
      take_outcomes();
      const bool is_closing = take_over(waiting);
      while (!waiting.empty() && send(waiting)) continue;
      /* Over the binary interface an accepted one has no answer until somebody asks. */
      if (in_flight_ > 0) session_.try_drain(Session::usual);
      const bool is_done = waiting.empty() && in_flight_ == 0;
      if (is_closing && (is_done || Clock::now() >= deadline_)) break;
      wait(is_closing);
    }
    end(waiting);
  }

  /** Whether it is closing. */
  bool take_over(Pushes &waiting) {
    const std::lock_guard<std::mutex> lock(mutex_);
    /* Not all of them, so that push_async() sees how many wait. */
    while (!given_.empty() && waiting.size() < given_max) {
      waiting.push_back(std::move(given_.front()));
      given_.pop_front();
    }
    room_.notify_all();
    return is_closing_;
  }

  /** Sends the first; false: there is no room. */
  bool send(Pushes &waiting) {
    ErrorDetail error;
    Notification notification;
    Push *const push = waiting.front().get();
    apns_status_t status = push->message.try_view(notification, &error);
    notification.with(push);
    if (status == APNS_OK) status = session_.try_send(notification, 0, nullptr, &error);
    if (status == APNS_ERR_AGAIN || status == APNS_ERR_FULL) return false;
    if (status == APNS_OK) {
      /* The session has it now, until its outcome. */
      waiting.front().release();
      in_flight_++;
    } else {
      push->outcome.set_exception(std::make_exception_ptr(Error(error)));
    }
    waiting.pop_front();
    return true;
  }

  void take_outcomes() {
    Event event;
    while (session_.try_next_event(event) == APNS_OK) {
      const std::unique_ptr<Push> push(event.data<Push>());
      event.user_data = push->message.user_data;
      in_flight_--;
      push->outcome.set_value(event);
    }
  }

  /** Waits for the session, for another thread or for the deadline. */
  void wait(bool is_closing) {
    pollfd watched = {session_.fd(), POLLIN, 0};
    int timeout = -1;
    if (is_closing) {
      const auto left = std::chrono::ceil<Milliseconds>(deadline_ - Clock::now());
      timeout = detail::timeout(std::max(left, Milliseconds{0}));
    }
    poll(&watched, 1, timeout);
  }

  void end(Pushes &waiting) {
    session_.try_cancel();
    take_outcomes();
    const auto last = Clock::now() + Milliseconds{in_flight_ > 0 ? 1000 : 0};
    while (session_.try_close(Milliseconds{0}) == APNS_ERR_AGAIN && Clock::now() < last) {
      pollfd watched = {session_.fd(), POLLIN, 0};
      poll(&watched, 1, 100);
      session_.try_process();
    }
    take_outcomes();
    take_over(waiting);
    for (; !waiting.empty(); waiting.pop_front()) {
      Event event;
      event.kind = APNS_EVENT_CANCELLED;
      event.user_data = waiting.front()->message.user_data;
      waiting.front()->outcome.set_value(event);
    }
  }

  const std::uint32_t close_within_;
  const Milliseconds room_within_;
  Session session_{nullptr};
  std::mutex mutex_; /* of the next four */
  Pushes given_;
  bool is_closing_ = false;
  Clock::time_point deadline_ = {};
  std::condition_variable room_;
  std::size_t in_flight_ = 0; /* of the thread alone */
  std::mutex joining_;
  std::thread thread_;
};
#endif

/* ---- Feedback ----------------------------------------------------------- */

/** apns_feedback_options_t. */
struct FeedbackOptions {
  Peer peer = {};
  apns_environment_t environment = APNS_ENVIRONMENT_PRODUCTION;
  std::uint32_t read_timeout_ms = 0;
  /** Session::get() of an HTTP/2 session: its own list of gone devices is read. */
  apns_session_t *session = nullptr;
  std::uint32_t list_timeout_ms = 0;
  std::uint32_t tuples_max = 0;
};

/** A device that no longer has the app: an apns_feedback_tuple_t, valid until the next. */
struct FeedbackTuple : apns_feedback_tuple_t {
  FeedbackTuple() noexcept : apns_feedback_tuple_t APNS_FEEDBACK_TUPLE_INIT {}

  TokenBytes bytes() const noexcept { return {token, token_length}; }
  std::string hex() const { return to_hex(bytes()); }
  std::chrono::system_clock::time_point time() const noexcept {
    return std::chrono::system_clock::time_point{} + std::chrono::seconds{timestamp};
  }
};

/**
 * The feedback service's list of devices that are gone. Reading it clears it there.
 *
 * With `nonblocking` nothing waits, and the program's event loop watches fd(). Until a whole
 * tuple is there, next() throws Error with APNS_ERR_AGAIN, and try_next() returns it.
 */
class Feedback : public detail::Owner<apns_feedback_t> {
  struct NextTuple {
    apns_feedback_t *feedback;
    apns_status_t operator()(FeedbackTuple &tuple, apns_error_t *error) const noexcept {
      return apns_feedback_next(feedback, &tuple, error);
    }
  };

 public:
  explicit Feedback(apns_feedback_t *adopted) noexcept : Owner(adopted) {}

#if APNS_EXCEPTIONS
  /** Connects; with `wait_max_ms` or `nonblocking` it only begins to. */
  explicit Feedback(const Credentials &credentials, const FeedbackOptions &options = {})
      : Owner(nullptr) {
    detail::Slot slot;
    *this = try_open(credentials, options, &slot.error);
    if (!*this) detail::raise(slot.error);
  }

  /** Continues to connect; next() does so, too. */
  void connect() {
    detail::Slot slot;
    if (try_connect(&slot.error) != APNS_OK) detail::raise(slot.error);
  }

  /** The next device; none if the list has ended. */
  std::optional<FeedbackTuple> next() {
    detail::Slot slot;
    std::optional<FeedbackTuple> tuple(std::in_place);
    const apns_status_t status = try_next(*tuple, &slot.error);
    if (status == APNS_OK) return tuple;
    if (status != APNS_DONE) detail::raise(slot.error);
    return std::nullopt;
  }

  /** The whole list. If the connection was lost, the whole tuples come first, then the Error. */
  auto tuples() noexcept {
    return detail::Pulled<FeedbackTuple, NextTuple, true>(NextTuple{get()});
  }
#endif

  static Feedback try_open(const Credentials &credentials, const FeedbackOptions &options = {},
                           apns_error_t *error = nullptr) noexcept {
    apns_feedback_options_t given = APNS_FEEDBACK_OPTIONS_INIT;
    detail::Filling filling{error};
    given.peer = detail::peer_of(options.peer, filling);
    given.environment = options.environment;
    given.read_timeout_ms = options.read_timeout_ms;
    given.session = options.session;
    given.list_timeout_ms = options.list_timeout_ms;
    given.tuples_max = options.tuples_max;
    apns_feedback_t *made = nullptr;
    if (filling.status == APNS_OK) apns_feedback_open(&given, credentials.get(), &made, error);
    return Feedback(made);
  }

  apns_status_t try_connect(apns_error_t *error = nullptr) noexcept {
    return apns_feedback_connect(get(), error);
  }

  /** With `nonblocking`: readable whenever next() has something to do; else -1. */
  int fd() const noexcept { return apns_feedback_fd(get()); }

  apns_status_t try_next(apns_feedback_tuple_t &tuple_out, apns_error_t *error = nullptr) noexcept {
    return apns_feedback_next(get(), &tuple_out, error);
  }

  /** The whole list; after the loop status() is why it ended. */
  auto try_tuples(apns_error_t *error = nullptr) noexcept {
    return detail::Pulled<FeedbackTuple, NextTuple, false>(NextTuple{get()}, error);
  }
};

/* ---- Channels ----------------------------------------------------------- */

/** apns_channels_options_t. */
struct ChannelsOptions {
  Peer peer = {};
  apns_environment_t environment = APNS_ENVIRONMENT_PRODUCTION;
  std::uint32_t answer_timeout_ms = 0;
  std::string topic = {};
  apns_log_t log = nullptr; /* must not throw */
  void *log_context = nullptr;
  apns_log_level_t log_level = APNS_LOG_DEFAULT;
};

/** APNs' description of a channel: an apns_channel_description_t. */
struct ChannelDescription : apns_channel_description_t {
  ChannelDescription() noexcept : apns_channel_description_t APNS_CHANNEL_DESCRIPTION_INIT {}

  bool stores_latest() const noexcept { return storage == APNS_STORAGE_LATEST; }
};

/**
 * The channels of an app: what broadcasts go to, see Notification::to_channel(). The first request
 * connects.
 *
 * A refusal is a RejectedError, which is an Error with APNS_ERR_REJECTED. With `nonblocking`, or
 * after `wait_max_ms`, a request throws Error with APNS_ERR_AGAIN until it is answered, and the
 * try_ functions return it: make the same call again when fd() is readable.
 */
class Channels : public detail::Owner<apns_channels_t> {
 public:
  explicit Channels(apns_channels_t *adopted) noexcept : Owner(adopted) {}

#if APNS_EXCEPTIONS
  explicit Channels(const Credentials &credentials, const ChannelsOptions &options = {})
      : Owner(nullptr) {
    detail::Slot slot;
    *this = try_make(credentials, options, &slot.error);
    if (!*this) detail::raise(slot.error);
  }

  /** Returns the new channel's identifier. APNS_ERR_IN_DOUBT: it may have been made; see list(). */
  std::string create(apns_storage_t storage) {
    detail::Slot slot;
    char channel[APNS_CHANNEL_ID_MAX + 1];
    check(apns_channel_create(get(), storage, channel, sizeof channel, &slot.error), slot);
    return channel;
  }

  ChannelDescription describe(const std::string &channel) {
    detail::Slot slot;
    ChannelDescription described;
    check(try_describe(channel, described, &slot.error), slot);
    return described;
  }

  /** Deletes it; not called delete, which is a word of C++. */
  void remove(const std::string &channel) {
    detail::Slot slot;
    check(try_remove(channel, &slot.error), slot);
  }

  /** The identifiers of all channels of the app. */
  std::vector<std::string> list() {
    detail::Slot slot;
    std::vector<std::string> channels;
    check(apns_channels_list(get(), &slot.error), slot);
    const char *channel = nullptr;
    while (apns_channels_next(get(), &channel) == APNS_OK) channels.emplace_back(channel);
    return channels;
  }
#endif

  static Channels try_make(const Credentials &credentials, const ChannelsOptions &options = {},
                           apns_error_t *error = nullptr) noexcept {
    apns_channels_options_t given = APNS_CHANNELS_OPTIONS_INIT;
    detail::Filling filling{error};
    given.peer = detail::peer_of(options.peer, filling);
    given.environment = options.environment;
    given.answer_timeout_ms = options.answer_timeout_ms;
    given.topic = filling.text(options.topic, "topic");
    given.log = options.log;
    given.log_context = options.log_context;
    given.log_level = options.log_level;
    apns_channels_t *made = nullptr;
    if (filling.status == APNS_OK) apns_channels_new(&given, credentials.get(), &made, error);
    return Channels(made);
  }

  apns_status_t try_create(apns_storage_t storage, std::string &channel_out,
                           apns_error_t *error = nullptr) {
    char channel[APNS_CHANNEL_ID_MAX + 1];
    const apns_status_t status =
        apns_channel_create(get(), storage, channel, sizeof channel, error);
    if (status == APNS_OK) channel_out = channel;
    return status;
  }

  apns_status_t try_describe(const std::string &channel, apns_channel_description_t &out,
                             apns_error_t *error = nullptr) noexcept {
    detail::Filling filling{error};
    const char *text = filling.text(channel, "channel_id");
    return filling.status ? filling.status : apns_channel_describe(get(), text, &out, error);
  }

  apns_status_t try_remove(const std::string &channel, apns_error_t *error = nullptr) noexcept {
    detail::Filling filling{error};
    const char *text = filling.text(channel, "channel_id");
    return filling.status ? filling.status : apns_channel_delete(get(), text, error);
  }

  /** Then next() gives one after the other. */
  apns_status_t try_list(apns_error_t *error = nullptr) noexcept {
    return apns_channels_list(get(), error);
  }
  /** The next of the list, valid until the next call; nullptr: the end. */
  const char *next() noexcept {
    const char *channel = nullptr;
    return apns_channels_next(get(), &channel) == APNS_OK ? channel : nullptr;
  }

  /** The response to the last request. */
  apns_channels_response_t response() const noexcept {
    apns_channels_response_t answer = APNS_CHANNELS_RESPONSE_INIT;
    apns_channels_response(get(), &answer, nullptr);
    return answer;
  }

  /** Abandons the pending request; it may be carried out all the same. */
  void cancel() noexcept { apns_channels_cancel(get()); }

  /** With `nonblocking`: readable whenever the pending request has something to do; else -1. */
  int fd() const noexcept { return apns_channels_fd(get()); }

  /** With `nonblocking`: in how many ms the request is due; -1: not before fd() is readable. */
  int timeout_ms() const noexcept { return apns_channels_timeout_ms(get()); }

#if APNS_EXCEPTIONS
 private:
  void check(apns_status_t status, const detail::Slot &slot) const {
    if (status == APNS_ERR_REJECTED) throw RejectedError(slot.error, response());
    detail::check(status, slot);
  }
#endif
};

/* ---- Event loops -------------------------------------------------------- */

/**
 * Has a loop watch the descriptor of a session, a feedback or channels for reading, until its own
 * end, which has to come before theirs. `Loop` has add(int fd, Ready ready), which calls ready()
 * whenever the descriptor is readable, and remove(int fd).
 *
 *     apns::Watch watch(loop, session, [&] { process(session); });
 */
template <class Loop>
class Watch {
 public:
  template <class Source, class Ready>
  Watch(Loop &loop, const Source &source, Ready &&ready) : loop_(loop), fd_(source.fd()) {
    if (fd_ >= 0) loop_.add(fd_, std::forward<Ready>(ready));
  }
  ~Watch() {
    if (fd_ >= 0) loop_.remove(fd_);
  }
  Watch(const Watch &) = delete;
  Watch &operator=(const Watch &) = delete;

 private:
  Loop &loop_;
  int fd_;
};

} // namespace v1_throwing or v1_quiet
} // namespace apns

template <>
struct std::hash<apns::Token> {
  std::size_t operator()(const apns::Token &token) const noexcept {
    return std::hash<std::string_view>{}(token.view());
  }
};

#endif
