import Client
import JSON

/// Checks a list for bad tokens and duplicates.
struct ListSurvey {
  private var tokens = 0
  private var firstLines: [[UInt8]: Int] = [:]
  private var wrong: [(line: Int, message: String)] = []
  private var duplicates: [(line: Int, first: Int, token: [UInt8])] = []
  private var lengths: [Int: Int] = [:]

  var isClean: Bool { wrong.isEmpty && duplicates.isEmpty }

  mutating func read(_ path: String, token name: String) throws(FileFault) {
    let list = try DeviceList(path, token: name)
    while true {
      do throws(FileFault) {
        guard let record = try list.next() else { return }
        take(record)
      } catch {
        guard error.line > 0 else { throw error }
        wrong.append((error.line, error.message))
      }
    }
  }

  private mutating func take(_ record: DeviceRecord) {
    guard let text = record.text(DeviceList.token) else {
      wrong.append((record.line, "no token"))
      return
    }
    do throws(LibraryError) {
      let token = try DeviceToken.hex(text)
      tokens += 1
      lengths[token.count, default: 0] += 1
      if let first = firstLines[token] {
        duplicates.append((record.line, first, token))
      } else {
        firstLines[token] = record.line
      }
    } catch {
      wrong.append((record.line, error.message))
    }
  }

  var text: String {
    var text = ""
    for fault in wrong { text += "line \(fault.line): \(Printable.line(fault.message))\n" }
    for one in duplicates {
      text += "line \(one.line): the same as line \(one.first): \(DeviceToken.hex(of: one.token))\n"
    }
    text +=
      "\(Printable.grouped(tokens)) tokens, \(Printable.grouped(firstLines.count)) devices"
    text +=
      ", \(Printable.grouped(duplicates.count)) duplicates, \(Printable.grouped(wrong.count)) not tokens\n"
    if lengths.count > 1 {
      let each = lengths.sorted { $0.key < $1.key }.map {
        "\(Printable.grouped($0.value)) of \($0.key)"
      }
      text += "Their lengths differ: \(each.joined(separator: ", ")) bytes\n"
    }
    return text
  }

  var json: String {
    var text = ""
    for fault in wrong {
      text +=
        JSONMembers.object(["line": .number(fault.line), "error": .text(fault.message)]) + "\n"
    }
    for one in duplicates {
      let members: JSONMembers = [
        "line": .number(one.line), "duplicate_of_line": .number(one.first),
        "token": .text(DeviceToken.hex(of: one.token)),
      ]
      text += members.object + "\n"
    }
    let totals: JSONMembers = [
      "tokens": .number(tokens), "devices": .number(firstLines.count),
      "duplicates": .number(duplicates.count), "not_tokens": .number(wrong.count),
    ]
    return text + totals.object + "\n"
  }
}
