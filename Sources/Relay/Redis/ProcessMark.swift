import Foundation

/// Identifies a process, so that relays on the same system know that it has ended before its lease
/// expires: boot ID, PID namespace, PID and start time.
enum ProcessMark {
  static let own: String = {
    guard let system, let (began, _) = look(getpid()) else { return "-" }
    return "\(system).\(getpid()).\(began)"
  }()

  private static let system: String? = {
    guard let boot = text("/proc/sys/kernel/random/boot_id") else { return nil }
    var space = stat()
    guard stat("/proc/self/ns/pid", &space) == 0 else { return nil }
    return "\(boot.trimmingCharacters(in: .whitespacesAndNewlines)).\(space.st_ino)"
  }()

  /// The process's start time, and whether it has exited without being reaped. nil if that is
  /// unreadable.
  private static func look(_ process: pid_t) -> (began: Substring, hasEnded: Bool)? {
    // The program's name is in parentheses, and may contain any character.
    guard let line = text("/proc/\(process)/stat"), let bracket = line.lastIndex(of: ")")
    else { return nil }
    let fields = line[bracket...].split(separator: " ")
    guard fields.count > 20 else { return nil }
    return (fields[20], fields[1] == "Z" || fields[1] == "X")
  }

  /// Whether that process has ended. False for processes of another system or namespace.
  static func isDead(_ mark: String) -> Bool {
    guard let process = Self.process(mark) else { return false }
    if kill(process, 0) != 0, errno == ESRCH { return true }
    // /proc may hide processes of other users.
    guard let (began, hasEnded) = look(process) else { return false }
    return hasEnded || !mark.hasSuffix(".\(began)")
  }

  /// The process, if it is one of this system and namespace.
  static func process(_ mark: String) -> pid_t? {
    let parts = mark.split(separator: ".")
    guard parts.count == 4, let system, "\(parts[0]).\(parts[1])" == system else { return nil }
    return pid_t(parts[2])
  }

  private static func text(_ path: String) -> String? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = fread(&bytes, 1, bytes.count, file)
    return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
  }
}
