/// One fault as options, rules files and the control interface name it.
package struct FaultField: Sendable {
  package let name: String
  package let value: String
  package let text: String
  /// Its value is tokens or parts of them.
  let isHex: Bool
  let read: @Sendable (JSONValue, inout Faults) throws(JSONFault) -> Void
  /// As JSON; nil where it is at rest.
  let write: @Sendable (Faults) -> String?

  package static let all: [FaultField] = [
    .range(
      "connections", \.connections, 1, "n|[first,last]",
      "only over these connections, counted from 1"),
    .share("connection_share", \.connectionShare, "only over this share of connections"),
    .tokens("bad_tokens", \.badTokens, "tokens answered as bad"),
    .tokens("bad_prefixes", \.badPrefixes, "beginnings of tokens answered as bad"),
    .count("bad_every", \.badEvery, 1, "every n-th notification of a connection is bad"),
    .share(
      "bad_share", \.badShare, "this share of all tokens is bad, always the same ones of a seed"),
    .statuses("bad_status", \.badStatuses, "what answers bad tokens; of several one is drawn"),
    .range("error_delay_ms", \.errorDelay, 0, "n|[min,max]", "how late the error packet comes"),
    .share("no_packet", \.noPacket, "this share of rejections just ends the connection"),
    .share("identifier_zero", \.identifierZero, "this share of error packets names nobody"),
    .range(
      "close_delay_ms", \.closeDelay, 0, "n|[min,max]",
      "what passes between error packet and end; 50 where not set"),
    .choice("close", \.ending, "how the connection ends after a rejection"),
    .flag("one_segment", \.oneSegment, "error packet and end leave together"),
    .count("shutdown_after", \.shutdownAfter, 1, "status 10 after n accepted on a connection"),
    .choice(
      "sentinel", \.sentinel, "the identifier that answers a zero-length token; none: not answered"),
    .status("sentinel_status", \.sentinelStatus, "the status that answers a zero-length token"),
    .count("record_bytes", \.recordSize, 1, "the most that a TLS record of ours carries"),
    .count(
      "segment_bytes", \.segmentSize, 1, "the most that leaves in one TCP segment, once connected"),
    .count("segment_gap_ms", \.segmentGap, 0, "what passes between such segments; 1 where not set"),
    .count("read_bytes_per_second", \.readRate, 1, "reads no faster"),
    .range("stall_after_bytes", \.stallAfter, 0, "n|[min,max]", "stops reading there"),
    .range("stall_ms", \.stallTime, 0, "n|[min,max]", "for how long; for good where not set"),
    .range(
      "cut_after_bytes", \.cutAfter, 0, "n|[min,max]", "reads n bytes and ends, in a frame or not"),
    .choice("cut", \.cutEnding, "how it ends there, and in feedback_cut_bytes"),
    .count("refuse_ms", \.refuseTime, 0, "refuses connections, for so long from when it is set"),
    .range(
      "handshake_delay_ms", \.handshakeDelay, 0, "n|[min,max]", "leaves the client's hello lying"),
    .alert("handshake_alert", \.handshakeAlert, "answers the client's hello with this fatal alert"),
    .bound("tls_min", \.tlsMin, "the lowest version of TLS"),
    .bound("tls_max", \.tlsMax, "the highest version of TLS"),
    .flag(
      "session_tickets", \.sessionTickets, "tickets ahead of the first bytes sent, and so TLS 1.3"),
    .count(
      "feedback_cut_bytes", \.feedbackCut, 0,
      "ends the feedback after n bytes; the rest of the list is lost"),
  ]

  private static let hexList = "[hex,…]"

  private typealias Path<Value> = WritableKeyPath<Faults, Value> & Sendable

  private static func field<Value>(
    _ name: String, _ path: Path<Value>, _ value: String, _ text: String,
    _ read: @escaping @Sendable (JSONValue) throws(JSONFault) -> Value,
    _ write: @escaping @Sendable (Value) -> String?
  ) -> FaultField {
    FaultField(
      name: name, value: value, text: text, isHex: value == hexList,
      read: { (json, faults) throws(JSONFault) in
        if case .null = json.content {
          faults[keyPath: path] = Faults()[keyPath: path]
        } else {
          do throws(JSONFault) {
            faults[keyPath: path] = try read(json)
          } catch {
            throw JSONFault("\(name): \(error.message)", at: error.offset)
          }
        }
      },
      write: { write($0[keyPath: path]) })
  }

  private static func count(
    _ name: String, _ path: Path<Int?>, _ least: Int, _ text: String
  ) -> FaultField {
    field(name, path, "n", text, { (json) throws(JSONFault) in try number(json, least) }) {
      $0.map { "\($0)" }
    }
  }

  private static func range(
    _ name: String, _ path: Path<ClosedRange<Int>?>, _ least: Int, _ value: String, _ text: String
  ) -> FaultField {
    field(name, path, value, text) { (json) throws(JSONFault) in
      guard case .array(let bounds) = json.content else {
        let only = try number(json, least)
        return only...only
      }
      guard bounds.count == 2 else {
        throw JSONFault("expected a number or two of them", at: json.offset)
      }
      let low = try number(bounds[0], least)
      let high = try number(bounds[1], least)
      if low > high { throw JSONFault("\(low) is above \(high)", at: bounds[0].offset) }
      return low...high
    } _: {
      $0.map { $0.count == 1 ? "\($0.lowerBound)" : "[\($0.lowerBound),\($0.upperBound)]" }
    }
  }

  private static func share(
    _ name: String, _ path: Path<Double>, _ text: String
  ) -> FaultField {
    let rest = Faults()[keyPath: path]
    return field(name, path, "0..1", text) { (json) throws(JSONFault) in
      switch json.content {
      case .bool(let all): return all ? 1 : 0
      case .number(let share) where (0...1).contains(share): return share
      default: throw JSONFault("expected a number from 0 to 1", at: json.offset)
      }
    } _: {
      $0 == rest ? nil : "\($0)"
    }
  }

  private static func flag(_ name: String, _ path: Path<Bool>, _ text: String) -> FaultField {
    field(name, path, "true|false", text) { (json) throws(JSONFault) in
      guard case .bool(let flag) = json.content else {
        throw JSONFault("expected true or false", at: json.offset)
      }
      return flag
    } _: {
      $0 ? "true" : nil
    }
  }

  private static func choice<
    Choice: RawRepresentable<String> & CaseIterable & Equatable & Sendable
  >(
    _ name: String, _ path: Path<Choice>, _ text: String
  ) -> FaultField {
    let rest = Faults()[keyPath: path]
    let words = Choice.allCases.map(\.rawValue)
    return field(name, path, words.joined(separator: "|"), text) { (json) throws(JSONFault) in
      guard let choice = json.string.flatMap(Choice.init(rawValue:)) else {
        throw JSONFault("expected one of \(words.joined(separator: ", "))", at: json.offset)
      }
      return choice
    } _: {
      $0 == rest ? nil : "\"\($0.rawValue)\""
    }
  }

  private static func tokens(
    _ name: String, _ path: Path<[[UInt8]]>, _ text: String
  ) -> FaultField {
    field(name, path, hexList, text) { (json) throws(JSONFault) in
      var tokens: [[UInt8]] = []
      for element in elements(json) {
        guard let hex = element.string else {
          throw JSONFault("expected a token in hex", at: element.offset)
        }
        do throws(TextFault) {
          tokens.append(try TokenField.bytes(of: hex.utf8))
        } catch {
          throw JSONFault(error.message, at: element.offset)
        }
      }
      return tokens
    } _: { tokens in
      tokens.isEmpty
        ? nil : "[" + tokens.map { "\"\(TokenField.hex($0))\"" }.joined(separator: ",") + "]"
    }
  }

  private static func statuses(
    _ name: String, _ path: Path<[UInt8]>, _ text: String
  ) -> FaultField {
    let rest = Faults()[keyPath: path]
    return field(name, path, "n|[n,…]", text) { (json) throws(JSONFault) in
      var statuses: [UInt8] = []
      for element in elements(json) { statuses.append(try byte(element)) }
      if statuses.isEmpty { throw JSONFault("expected a status", at: json.offset) }
      return statuses
    } _: {
      $0 == rest ? nil : "\($0)".replacing(" ", with: "")
    }
  }

  private static func status(_ name: String, _ path: Path<UInt8>, _ text: String) -> FaultField {
    let rest = Faults()[keyPath: path]
    return field(name, path, "n", text, { (json) throws(JSONFault) in try byte(json) }) {
      $0 == rest ? nil : "\($0)"
    }
  }

  private static func alert(_ name: String, _ path: Path<UInt8?>, _ text: String) -> FaultField {
    field(name, path, "n|name", text) { (json) throws(JSONFault) in
      guard let word = json.string else { return try byte(json) }
      guard let alert = TLSAlert.number(of: word) else {
        throw JSONFault(
          "expected a number or one of \(TLSAlert.names.joined(separator: ", "))", at: json.offset)
      }
      return alert
    } _: {
      $0.map { "\($0)" }
    }
  }

  private static func bound(
    _ name: String, _ path: Path<TLSBound?>, _ text: String
  ) -> FaultField {
    let words = TLSBound.allCases.map(\.rawValue)
    return field(name, path, words.joined(separator: "|"), text) { (json) throws(JSONFault) in
      let word: String? =
        if case .number(let number) = json.content { "\(number)" } else { json.string }
      guard let bound = word.flatMap(TLSBound.init(rawValue:)) else {
        throw JSONFault("expected one of \(words.joined(separator: ", "))", at: json.offset)
      }
      return bound
    } _: {
      $0.map { "\"\($0.rawValue)\"" }
    }
  }

  private static func number(_ json: JSONValue, _ least: Int) throws(JSONFault) -> Int {
    // No time or size anyone means is beyond it, and sums stay within an Int.
    guard let number = json.integer, number >= least, number <= 1 << 40 else {
      throw JSONFault("expected a whole number from \(least) on", at: json.offset)
    }
    return number
  }

  private static func byte(_ json: JSONValue) throws(JSONFault) -> UInt8 {
    guard let byte = json.integer.flatMap(UInt8.init(exactly:)) else {
      throw JSONFault("expected a number from 0 to 255", at: json.offset)
    }
    return byte
  }

  private static func elements(_ json: JSONValue) -> [JSONValue] {
    if case .array(let elements) = json.content { elements } else { [json] }
  }
}
