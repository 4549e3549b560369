// The unit of every time and span is in its type or, where C gives it, in its name.

/// A time on the monotonic clock, or a span. The largest value means never.
typealias Nanoseconds = Int64

/// A span as the options of the C interface give it.
typealias Milliseconds = Int64

/// A time on the monotonic clock, or a span, as the outbox keeps it for each notification.
typealias Seconds = UInt32

/// The same with more room, as a provider token's age needs it.
typealias MonotonicSeconds = Int64

/// A time since 1970, on the clock that may be set.
typealias UNIXSeconds = Int64

/// The same in 32 bits, as in the frames and tuples of the binary interface.
typealias ShortUNIXSeconds = UInt32

/// The same as APNs gives it in an answer.
typealias UNIXMilliseconds = Int64
