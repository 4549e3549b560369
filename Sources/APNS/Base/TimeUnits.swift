// The unit of every time and span is in its type or, where C gives it, in its name.

/// A time on the monotonic clock, or a span. The largest value means never.
typealias Nanoseconds = Int64

/// A span as the options of the C interface give it.
typealias Milliseconds = Int64

/// A time on the monotonic clock, or a span, as the outbox keeps it for each notification.
typealias Seconds = UInt32
