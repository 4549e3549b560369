import APNSLibrary

/// The devices of one run, from the command line or from a list, each with its payload.
final class DeviceSource {
  /// A device to send to, or why there is none.
  enum Device {
    case ready(number: Int, token: [UInt8], payload: [UInt8])
    case refused(number: Int, token: [UInt8], reason: String)
  }

  private let template: Template
  private let list: DeviceList?
  private var named: ArraySlice<String>
  private var number = 0

  init(tokens: [String], list: DeviceList?, template: Template) {
    self.template = template
    self.list = list
    named = tokens[...]
  }

  /// How much of the list has been read; nil where nobody knows how long it is.
  var share: Double? {
    guard let list, let size = list.size, size > 0 else { return nil }
    return min(1, Double(list.position) / Double(size))
  }

  /// `wanted` says which devices are worth their work; nil is handed out for the others.
  func next(where wanted: (Int) -> Bool) throws(FileFault) -> (number: Int, device: Device?)? {
    number += 1
    guard let list else {
      guard let text = named.popFirst() else { return nil }
      return (number, device(Array(text.utf8), nil))
    }
    let record: DeviceRecord
    do throws(FileFault) {
      guard let next = try list.next() else { return nil }
      record = next
    } catch {
      // A line that is no record is one device's trouble, and a file that cannot be read all's.
      guard error.line > 0 else { throw error }
      let place = error.column > 0 ? "\(error.line):\(error.column)" : "\(error.line)"
      return (
        number, .refused(number: number, token: [], reason: "line \(place): \(error.message)")
      )
    }
    guard wanted(number) else { return (number, nil) }
    guard let text = record.text(DeviceList.token) else {
      return (
        number,
        .refused(number: number, token: [], reason: "line \(record.line): no token")
      )
    }
    return (number, device(text, record))
  }

  private func device(_ text: [UInt8], _ record: DeviceRecord?) -> Device {
    let place = record.map { "line \($0.line): " } ?? ""
    var token: [UInt8] = []
    do throws(LibraryError) {
      token = try DeviceToken.hex(text)
    } catch {
      return .refused(number: number, token: [], reason: place + error.message)
    }
    guard let record else {
      return .ready(number: number, token: token, payload: template.source)
    }
    do throws(TemplateFault) {
      return .ready(number: number, token: token, payload: try template.filled(from: record))
    } catch {
      return .refused(number: number, token: token, reason: place + error.message)
    }
  }
}
