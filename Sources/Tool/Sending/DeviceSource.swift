import Client
import JSON
import Simulator

/// The devices or channels of one run, from the command line or from a list, each with its payload.
final class DeviceSource {
  /// A device to send to, or the reason why it is refused.
  enum Device {
    case ready(to: Addressee, payload: [UInt8])
    case refused(to: Addressee, reason: String)
  }

  private let kind: Addressee.Kind
  private let template: Template
  private let list: DeviceList?
  /// Pushes of a recording, instead of a list.
  let replayed: [Recording.Push]
  private var named: ArraySlice<String>
  private var number = 0

  init(_ options: SendOptions, _ template: Template) throws {
    kind = options.kind
    self.template = template
    named = (options.isBroadcast ? options.channel : options.tokens)[...]
    list = try Self.list(options, template)
    replayed = try options.replay.map(Self.recording) ?? []
  }

  private static func list(_ options: SendOptions, _ template: Template) throws -> DeviceList? {
    guard let path = options.listFile else { return nil }
    let list = try Exit.refusing(options.isBroadcast ? "--channels" : "--tokens") {
      try DeviceList(path, of: options.kind, token: options.tokenColumn)
    }
    if let names = list.names, let missing = template.names.first(where: { !names.contains($0) }) {
      let known = names.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ", ")
      throw Exit.refusal(
        "{{\(String(decoding: missing, as: UTF8.self))}} is not a column of \(path), which has \(known)"
      )
    }
    return list
  }

  private static func recording(_ path: String) throws -> [Recording.Push] {
    let pushes = try Exit.refusing("--replay") { try Recording(at: path).pushes }
      .filter { !$0.isAgain }
    if pushes.isEmpty { throw Exit.refusal("--replay: \(path): has no pushes") }
    return pushes
  }

  /// The bytes of the list; nil if unknown.
  var size: Int? { list?.size }

  /// The share of the list that has been read; nil if its length is unknown.
  var share: Double? {
    if !replayed.isEmpty { return min(1, Double(number) / Double(replayed.count)) }
    guard let list, let size = list.size, size > 0 else { return nil }
    return min(1, Double(list.position) / Double(size))
  }

  /// False if the list's next line has not started to arrive within the time.
  func isReady(within milliseconds: CInt) -> Bool { list?.isReady(within: milliseconds) ?? true }

  /// The device is nil if `wanted` rejects its number, which saves the work for it.
  func next(where wanted: (Int) -> Bool) throws(FileFault) -> (number: Int, device: Device?)? {
    number += 1
    if !replayed.isEmpty {
      guard number <= replayed.count else { return nil }
      let push = replayed[number - 1]
      return (number, .ready(to: Addressee(token: push.token), payload: push.payload))
    }
    guard let list else {
      guard let text = named.popFirst() else { return nil }
      return (number, device(Array(text.utf8), nil))
    }
    let record: DeviceRecord
    do throws(FileFault) {
      guard let next = try list.next() else { return nil }
      record = next
    } catch {
      // An invalid line concerns one device, an unreadable file all of them.
      guard error.line > 0 else { throw error }
      let place = error.column > 0 ? "\(error.line):\(error.column)" : "\(error.line)"
      return (number, .refused(to: Addressee(), reason: "line \(place): \(error.message)"))
    }
    guard wanted(number) else { return (number, nil) }
    guard let text = record.text(kind.field) else {
      let name = String(decoding: kind.field, as: UTF8.self)
      return (number, .refused(to: Addressee(), reason: "line \(record.line): no \(name)"))
    }
    return (number, device(text, record))
  }

  private func device(_ text: [UInt8], _ record: DeviceRecord?) -> Device {
    let place = record.map { "line \($0.line): " } ?? ""
    var to = Addressee()
    do throws(LibraryError) {
      switch kind {
      case .device: to.token = try DeviceToken.hex(text)
      case .channel:
        to.channel = ChannelID(text)?.text
        guard to.channel != nil else {
          let shown = String(decoding: text, as: UTF8.self)
          return .refused(to: to, reason: "\(place)'\(shown)' \(ChannelID.fault)")
        }
      }
    } catch {
      return .refused(to: to, reason: place + error.message)
    }
    var payload = template.source
    if let record {
      do throws(TemplateFault) {
        payload = try template.filled(from: record)
      } catch {
        return .refused(to: to, reason: place + error.message)
      }
    }
    if kind == .channel, startsActivity(payload) {
      return .refused(
        to: to,
        reason: place + "a broadcast cannot start a Live Activity: a push to the device does")
    }
    return .ready(to: to, payload: payload)
  }

  private func startsActivity(_ payload: [UInt8]) -> Bool {
    (try? JSONParser.read(payload))?["aps"]?["event"]?.string == "start"
  }
}

extension Recording.Push {
  fileprivate var payload: [UInt8] {
    let (start, end) = (Array("{\"aps\":{\"alert\":\"".utf8), Array("\"}}".utf8))
    let room = bytes - start.count - end.count
    if room >= 0 { return start + [UInt8](repeating: UInt8(ascii: "x"), count: room) + end }
    let least = Array("{\"aps\":{}}".utf8)
    return least + [UInt8](repeating: UInt8(ascii: " "), count: max(0, bytes - least.count))
  }
}
