import CAPNS
import Client
import JSON

/// Sends a channel management request, and prints its result.
struct ChannelRequest {
  var options: ChannelOptions
  var service: ChannelService
  /// The channel; nil for a new one, or for all.
  var id: String?

  /// Sends a request about each channel, or one without a channel, which gets an empty text. Throws the
  /// exit status unless all were accepted.
  static func carryOut(
    _ options: ChannelOptions, _ ids: [String?] = [nil],
    _ send: (String, ChannelService, inout JSONMembers) throws(LibraryError) -> String
  ) throws {
    let service = try options.open()
    var isAll = true
    for id in ids {
      let request = ChannelRequest(options: options, service: service, id: id)
      let isDone = try request.isDone { (members) throws(LibraryError) in
        try send(id ?? "", service, &members)
      }
      isAll = isAll && isDone
    }
    if !isAll { throw Exit.someRejected }
  }

  /// Whether it was accepted. Ends the program if the service is unreachable.
  private func isDone(
    _ send: (inout JSONMembers) throws(LibraryError) -> String
  ) throws -> Bool {
    var members: JSONMembers = ["channel": .text(id)]
    do throws(LibraryError) {
      var more = members
      let text = try send(&more)
      if options.json {
        more.add("outcome", .text(SendOutcome.Kind.accepted.rawValue))
        addResponse(&more)
      } else {
        StandardStream.output.write(text)
      }
      return true
    } catch {
      switch error.status {
      case APNS_ERR_REJECTED:
        reject(error, &members)
        return false
      case APNS_ERR_IN_DOUBT:
        if options.json {
          members.add("outcome", .text(SendOutcome.Kind.unknown.rawValue))
          addResponse(&members)
        }
        _ = Exit.report(error.message, Exit.someRejected)
        StandardStream.error.write("  apns channel list shows the existing channels\n")
        return false
      default: throw Exit.unreached(error, options.provider.shown)
      }
    }
  }

  private func reject(_ error: LibraryError, _ members: inout JSONMembers) {
    let answer = service.answer
    if options.json {
      members.add("outcome", .text(SendOutcome.Kind.rejected.rawValue))
      members.add("reason", .text(nonempty: answer.reason))
      addResponse(&members)
    }
    let name = id.map { "\($0): " } ?? ""
    let request = answer.requestIdentifier.isEmpty ? "" : " (request \(answer.requestIdentifier))"
    _ = Exit.report("\(name)\(error.message)\(request)", Exit.someRejected)
    if let words = ReasonCause.words(answer.reason) {
      StandardStream.error.write("  \(Printable.line(words))\n")
    }
  }

  /// A line with the service's response.
  private func addResponse(_ members: inout JSONMembers) {
    let answer = service.answer
    members.add("http_status", .number(nonzero: answer.httpStatus))
    members.add("retry_after", .number(nonzero: answer.retryAfter))
    members.add("request_id", .text(nonempty: answer.requestIdentifier))
    StandardStream.output.write(members.object + "\n")
  }
}
