import Glibc

/// A file of any length, line by line, in constant memory. "-" is standard input.
final class LineReader {
  /// Longer lines are not from a list.
  static let maxLength = 1 << 20

  let path: String
  /// In bytes; nil if unknown, as for a pipe.
  let size: Int?
  private(set) var line = 0
  /// Bytes handed out so far.
  private(set) var position = 0
  /// The end of the last line, CRLF or LF.
  private(set) var ending: [UInt8] = [0x0A]
  /// The byte order mark at the beginning of the file, if it has one.
  private(set) var mark: [UInt8] = []
  private let descriptor: CInt
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 1)
  private var from = 0
  private var to = 0

  init(_ path: String) throws(FileFault) {
    self.path = path
    descriptor = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileFault.system(path) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileFault.system(path) }
    size = status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
    if status.st_mode & S_IFMT == S_IFDIR {
      throw FileFault(path: path, message: "is a directory")
    }
  }

  deinit {
    if descriptor > 0 { close(descriptor) }
    buffer.deallocate()
  }

  /// False if no data arrived within the time, for example from a pipe.
  func isReady(within milliseconds: CInt) -> Bool {
    if from < to || size != nil { return true }
    var look = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&look, 1, milliseconds) != 0
  }

  /// A line without its end, LF or CRLF; nil at the end of the file, or when interrupted.
  func next() throws(FileFault) -> [UInt8]? {
    var text: [UInt8] = []
    while true {
      if from == to, try !fill() {
        if text.isEmpty { return nil }
        break
      }
      let start = buffer.baseAddress! + from
      if let end = memchr(start, 0x0A, to - from) {
        let count = UnsafeRawPointer(end) - UnsafeRawPointer(start)
        text += UnsafeRawBufferPointer(start: start, count: count)
        from += count + 1
        position += count + 1
        break
      }
      text += UnsafeRawBufferPointer(start: start, count: to - from)
      position += to - from
      from = to
      if text.count > Self.maxLength {
        throw FileFault(
          path: path, line: line + 1, message: "a line of more than \(Self.maxLength) bytes")
      }
    }
    line += 1
    ending = [0x0A]
    if text.last == 0x0D {
      text.removeLast()
      ending = [0x0D, 0x0A]
    }
    if line == 1 {
      if TextMark.isUTF16(text) {
        throw FileFault(path: path, line: 1, message: TextMark.fault)
      }
      mark = TextMark.cut(&text)
    }
    return text
  }

  private func fill() throws(FileFault) -> Bool {
    while true {
      let count = read(descriptor, buffer.baseAddress!, buffer.count)
      if count > 0 {
        (from, to) = (0, count)
        return true
      }
      if count == 0 { return false }
      if errno != EINTR { throw FileFault.system(path) }
      if Interruption.times > 0 { return false }
    }
  }
}

/// The first bytes of a text that show its encoding.
enum TextMark {
  static let fault = "is in UTF-16: save it as UTF-8, or convert it (iconv -f UTF-16 -t UTF-8)"
  private static let utf8: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// Removes a UTF-8 byte order mark, and returns it.
  static func cut(_ text: inout [UInt8]) -> [UInt8] {
    guard text.starts(with: utf8) else { return [] }
    text.removeFirst(utf8.count)
    return utf8
  }

  static func isUTF16(_ text: [UInt8]) -> Bool {
    text.starts(with: [0xFF, 0xFE]) || text.starts(with: [0xFE, 0xFF])
      || text.prefix(4).count { $0 == 0 } == 2 && text.count >= 4
  }
}

enum WholeText {
  /// The same without a byte order mark.
  static func readText(_ path: String) throws(FileFault) -> [UInt8] {
    var text = try read(path)
    if TextMark.isUTF16(text) { throw FileFault(path: path, message: TextMark.fault) }
    _ = TextMark.cut(&text)
    return text
  }

  static let maxLength = 1 << 24

  static func read(_ path: String) throws(FileFault) -> [UInt8] {
    let descriptor = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileFault.system(path) }
    defer { if descriptor > 0 { close(descriptor) } }
    var text: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = Glibc.read(descriptor, &piece, piece.count)
      if count == 0 { return text }
      if count < 0 {
        if errno == EINTR, Interruption.times == 0 { continue }
        throw FileFault.system(path)
      }
      text += piece.prefix(count)
      if text.count > maxLength { throw FileFault(path: path, message: "larger than 16 MiB") }
    }
  }
}
